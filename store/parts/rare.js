// The parts of a store that few programs need: those that collect garbage, check and repair blobs, make blobs from
// parts of other blobs, read and write files, rescue a store, or open it for reading only.

import { isIntact } from '../check/blob/inspect-blob.js'
import { Repairs } from '../check/blob/repairs.js'
import { ClaimFinder } from '../check/claims.js'
import { Fsck } from '../check/fsck.js'
import { OrphanRestorer } from '../check/restore-orphans.js'
import { Collector } from '../gc/collector.js'
import { FileExporter } from '../read/export-file.js'
import { Appender } from '../write/append/append.js'
import { compose } from '../write/compose/compose.js'
import { FileImporter } from '../write/import/import-file.js'

export { openReadOnly } from '../storage/opening/read-only.js'
export { rescueDatabases } from '../storage/opening/rescue.js'

/** @import { ClaimParts } from '../check/claims.js' */
/** @import { FsckOwnParts } from '../check/fsck.js' */
/** @import { CollectorParts } from '../gc/collector.js' */
/** @import { ExportParts } from '../read/export-file.js' */
/** @import { AppendParts } from '../write/append/append.js' */
/** @import { BlobPart, ComposeOptions, ComposeParts } from '../write/compose/compose.js' */
/** @import { ImportParts } from '../write/import/import-file.js' */
/** @import { Many } from '../../lib/async/in-order.js' */

/** @typedef {ReturnType<typeof makeRareParts>} RareParts */

/**
 * @param {AppendParts & ClaimParts & CollectorParts & ComposeParts & ExportParts & FsckOwnParts & ImportParts} parts
 *   the parts of the store that these parts use
 */
export function makeRareParts (parts) {
  const repairs = new Repairs(parts)
  const claims = new ClaimFinder(parts)
  const restorer = new OrphanRestorer({ ...parts, claims, repairs })
  return {
    appender: new Appender(parts),
    collector: new Collector(parts),
    /** @param {Many<BlobPart>} blobParts @param {ComposeOptions} options  see `BlobStore.compose` */
    compose: (blobParts, options) => compose(parts, blobParts, options),
    exporter: new FileExporter(parts),
    fsck: new Fsck({ ...parts, claims, repairs, restorer }),
    importer: new FileImporter(parts),
    isIntact,
    repairs,
    restorer
  }
}
