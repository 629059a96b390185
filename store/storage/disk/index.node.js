// What the store asks of a disk, where there is one: disk.none.js stands in elsewhere. Only what is behind this file needs `node:fs`.

export { openFolder } from './blob-folder.js'
export { assertRoomFor, identityOf, logsLen, syncOlderLogs } from './level-folder.js'
export { openRegular } from './regular-file.js'
export {
  absolute, assertFolder, assertLevel, exists, isHeadless, isMissing, isStoreAt,
  linkFiles, makeFolder, moveFolder, placeFolder, readText, realPath, removeFolder, removeFoldersLike, replaceFolder, syncFiles
} from './folders.js'
