// Exports everything that the store does on a disk. In browsers, which have no disk, index.none.js replaces this file.
// Only the files that this one exports import `node:fs`.

export { absolute, openRegular, realPath } from '../../../lib/source/paths.node.js'
export { openFolder, readFolder } from './blob-folder.js'
export { claimFolder } from './directory/claim.js'
export { isStoreAt, nameStore, openingFault, rescueFault, storeIdOf } from './directory/parts.js'
export { assertSpaceFor, identityOf, lockOwner, logsLen, ownPid, syncOlderLogs } from './directory/level-folder.js'
export { copyLive, makeCopyFolder, stampOf } from './live-copy.js'
export {
  assertFolder, assertLevel, exists, folderLen, isMissing, makeFolder, makeFolders, moveFolder, placeFolder,
  removeFolder, removeFoldersLike, replaceFolder, syncFiles
} from './folders.js'
export { shareFile } from './share-file.js'
export { checkDatabase } from './leveldb/check.js'
export { Salvage } from './leveldb/salvage.js'
export {
  bytesLostSinceClosing, checkBeforeOpening, findFaultInUse, removeSeal, sealStore
} from './leveldb/seal.js'
