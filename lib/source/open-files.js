// Makes room for a file when the system refuses to open it because too many files are open. The parts of the program
// that keep files open for later reads then close them, and the file is opened once more. This module also classifies
// the errors of opening a file.

/** @type {Set<() => Promise<unknown>>} */
const keepers = new Set()

/**
 * Registers a part of the program that keeps files open.
 *
 * @param {() => Promise<unknown>} closeIdle  closes the files that nobody uses
 * @returns {() => void} a function that removes the registration
 */
export function keepsFilesOpen (closeIdle) {
  keepers.add(closeIdle)
  return () => { keepers.delete(closeIdle) }
}

/**
 * Calls a function that opens files. If too many files are open, closes the idle ones and calls it again.
 *
 * @template T
 * @param {() => Promise<T>} open  must not leave anything open when it fails
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
 * True if something failed because too many files are open. LevelDB says this only in the message of an error, or in
 * that of its `cause` if the database cannot be opened.
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

/** True if an error says that the path does not lead to a file. @param {unknown} error */
export const isNoFile = error => NO_FILE.has(/** @type {NodeJS.ErrnoException} */ (error)?.code ?? '')
