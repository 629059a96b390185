// A disk that fails on demand and keeps a journal: shim.c is compiled, and loaded into processes that are started with
// `environmentOf`.
import { execFileSync } from 'node:child_process'
import { closeSync, openSync, readSync, writeFileSync, writeSync } from 'node:fs'
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const SOURCE = fileURLToPath(new URL('shim.c', import.meta.url))
const CONTROL_LEN = 28
const { ENOSPC, EIO, EDQUOT, EFBIG, EROFS } = constants.errno

/** Kinds of calls, as in shim.c. */
const [WRITE, CREATE, SYNC, NAME] = [1, 2, 4, 8]
const ALL = WRITE | CREATE | SYNC | NAME

/** The ways in which a disk may fail. Each names the calls that fail. */
export const FAULTS = {
  'full from there on': { kinds: WRITE | CREATE, error: ENOSPC, isSticky: true },
  'out of quota from there on': { kinds: WRITE | CREATE, error: EDQUOT, isSticky: true },
  'a limit for files from there on': { kinds: WRITE, error: EFBIG, isSticky: true },
  'broken once': { kinds: ALL, error: EIO, isSticky: false },
  'broken from there on': { kinds: ALL, error: EIO, isSticky: true },
  'a sync fails once': { kinds: SYNC, error: EIO, isSticky: false },
  'read-only from there on': { kinds: WRITE | CREATE | NAME, error: EROFS, isSticky: true },
  'short writes from there on': { kinds: WRITE, error: 0, isSticky: true }
}

/**
 * Makes a folder that contains only the compiled shim.
 *
 * @returns {Promise<{ missing: string } | { folder: string, shim: string, remove: () => Promise<void> }>} `missing`:
 *   the reason why there is none
 */
export async function makeDisk () {
  const isGlibc = process.platform === 'linux' && 'glibcVersionRuntime' in process.report.getReport().header
  if (!isGlibc) return { missing: 'needs a C compiler on Linux (glibc)' }
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'baobox-disk-')))
  const shim = join(folder, 'shim.so')
  const remove = () => rm(folder, { recursive: true, force: true })
  try {
    execFileSync('cc', ['-shared', '-fPIC', '-O1', '-o', shim, SOURCE, '-ldl', '-lpthread'], { stdio: 'pipe' })
  } catch (error) {
    await remove()
    return { missing: `needs a C compiler on Linux: ${String(error.stderr ?? error.message).split('\n')[0]}` }
  }
  return { folder, shim, remove }
}

/**
 * The environment of a process with this disk.
 *
 * @param {string} shim @param {string} folder  in which the disk fails, or keeps a journal; it is made
 * @param {{ control?: string, journal?: string, marks?: string, syncMicros?: number }} [files]
 */
export async function environmentOf (shim, folder, { control, journal, marks, syncMicros = 0 } = {}) {
  await mkdir(folder, { recursive: true })
  for (const path of [control, marks]) if (path !== undefined) writeFileSync(path, new Uint8Array(CONTROL_LEN))
  const given = { FOLDER: folder, CONTROL: control, JOURNAL: journal, MARKS: marks, SYNC_US: syncMicros }
  const environment = { ...process.env, LD_PRELOAD: shim, UV_USE_IO_URING: '0' }
  for (const [name, value] of Object.entries(given)) {
    if (value !== undefined) environment[`BAOBOX_DISK_${name}`] = String(value)
  }
  return environment
}

/** Makes the disk of this process fail. */
export class Control {
  #fd

  /** @param {string} path  the file that the process was started with */
  constructor (path = process.env.BAOBOX_DISK_CONTROL) {
    this.#fd = openSync(path, 'r+')
  }

  /**
   * @param {{ kinds: number, error: number, isSticky: boolean }} fault
   * @param {number} pass  how many of these calls succeed before one fails
   */
  arm ({ kinds, error, isSticky }, pass) {
    this.#write([0, kinds, pass, error, Number(isSticky), 0, 0])
    this.#write([1])
  }

  /** @returns {{ seen: number, failed: number }} calls since it was armed: of these kinds, and those that failed */
  disarm () {
    this.#write([0])
    const numbers = new Uint32Array(CONTROL_LEN / 4)
    readSync(this.#fd, numbers, 0, CONTROL_LEN, 0)
    return { seen: numbers[5], failed: numbers[6] }
  }

  close () { closeSync(this.#fd) }

  /** @param {number[]} numbers  from the beginning */
  #write (numbers) { writeSync(this.#fd, new Uint8Array(Uint32Array.from(numbers).buffer), 0, 4 * numbers.length, 0) }
}
