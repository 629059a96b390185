// Makes room for a file when the system refuses to open it because too many are open: parts of the program that keep
// files open for later reads close them, and the call is made once more. And tells why a file was not opened.

/** @type {Set<() => Promise<unknown>>} */
const keepers = new Set()

/**
 * Notes that files are kept open.
 *
 * @param {() => Promise<unknown>} closeIdle  closes those that nobody uses
 * @returns {() => void} ends this
 */
export function keepsFilesOpen (closeIdle) {
  keepers.add(closeIdle)
  return () => { keepers.delete(closeIdle) }
}

/**
 * Makes a call that opens files. If the system has too many open, the call is made again without those that are idle.
 *
 * @template T
 * @param {() => Promise<T>} open  leaves nothing when it fails
 * @returns {Promise<T>}
 */
export async function withRoom (open) {
  try {
    return await open()
  } catch (error) {
    if (!isTooMany(error)) throw error
    await Promise.all([...keepers].map(closeIdle => closeIdle()))
    return open()
  }
}

/**
 * Did something fail because too many files are open? LevelDB says it in words, and in the `cause` of its error when it
 * cannot be opened.
 *
 * @param {unknown} error
 * @returns {boolean}
 */
export function isTooMany (error) {
  const { code = '', message = '', cause } = /** @type {NodeJS.ErrnoException} */ (error ?? {})
  if (code === 'LEVEL_DATABASE_NOT_OPEN') return isTooMany(cause)
  return code === 'EMFILE' || code === 'ENFILE' || (code.startsWith('LEVEL_') && /too many open files/i.test(message))
}

/** The code for a path that leads to something other than a regular file. */
export const NOT_REGULAR = 'EFTYPE'

/** The system's codes for a path that leads to nothing, or to something other than a file. */
const NO_FILE = new Set([
  'ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP', 'EMLINK', 'EISDIR', 'ENXIO', 'ENODEV', 'EOPNOTSUPP', 'ENOTSUP',
  NOT_REGULAR
])

/** Does an error say that there is no file to open? @param {unknown} error */
export const isNoFile = error => NO_FILE.has(/** @type {NodeJS.ErrnoException} */ (error)?.code ?? '')
