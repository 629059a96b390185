// The layouts of earlier releases, and how a store comes from each to the next.
//
// 1  Notes of ids that are being deleted are empty. There are no files, no tags and no aliases.
// 2  Notes have a checksum. Records say where the bytes are: a release that knows only layout 1 would not find them.
// 3  Small blobs that come together are in packs, and records of these say where; extents may be as long as cells. What was written before stays as it is.

import { BaoError } from '../lib/errors.js'
import { LAYOUT_VERSION, VIEWS, allDoomed, encodeDoomed, idOfDoomed } from './keys.js'

/** @import { Database } from './database.js' */

/** From each layout to the next. What was interrupted is done once more: a step counts when the state says so, which is written behind the last. */
const STEPS = [checkNotes, async () => {}]

/**
 * @param {Database} index
 * @param {number} version  of the layout that is there
 * @param {string} location  for messages
 * @throws {BaoError} STORE_VERSION { location } for a layout that this release does not know
 */
export async function upgrade (index, version, location) {
  if (version < 1 || version > LAYOUT_VERSION) {
    throw new BaoError('STORE_VERSION', `the store at ${location} has layout ${version}, this release knows 1 to ${LAYOUT_VERSION}`, { location })
  }
  for (const step of STEPS.slice(version - 1)) await step(index)
}

/** @param {Database} index */
async function checkNotes (index) {
  for await (const [key, value] of index.iterator({ ...allDoomed, ...VIEWS })) {
    const id = idOfDoomed(key)
    if (id !== undefined && value.length === 0) await index.put(new Uint8Array(key), encodeDoomed(id))
  }
}
