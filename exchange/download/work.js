// Types: what a download does, from the whole to one request. A `Downloader` runs a `Work`: that of one blob
// (blob/blob-download.js), or that of the members of a sequence (members/member-downloads.js). The work of a blob has a
// current `Stage` (blob/segments.js, size-proof.js, whole-files.js). For an idle mirror, the downloader asks the work
// for the next `Task`, the work asks its stage, and `Segments` asks its plan for the next segment.

/** @import { Candidate } from '../../verifier/mirrors/candidate.js' */
/** @import { MirrorBook } from '../../verifier/mirrors/mirror-book.js' */
/** @import { MirrorRecord } from '../../verifier/mirrors/mirror-record.js' */
/** @import { Store } from '../../store/interface.js' */
/** @import { DownloadProgress } from './progress.js' */

/**
 * @typedef {object} Session  what the parts of one download share
 * @property {Store} store
 * @property {MirrorBook} book
 * @property {DownloadProgress} progress
 * @property {AbortSignal} signal  aborts when the download ends, in success or failure
 */

/**
 * @typedef {object} Work
 * @property {() => Promise<void>} refill  prepares tasks. Called before `nextTask`
 * @property {boolean} isDone
 * @property {(record: MirrorRecord, asked: Asked) => Task | undefined} nextTask  undefined when the mirror cannot
 *   be given a task now
 * @property {(options: FallBackOptions) => boolean} fallBack  called when all tasks are given. If no mirror can help,
 *   the work tries something else, such as reading a whole file, or gives up a part. Returns true if the work changed.
 *   Throws when the work has failed
 * @property {number} [wakeAt]  when to look for tasks again, by the clock of the book, even if no task ends before that
 */

/** @typedef {{ moreMirrorsMayCome: boolean }} FallBackOptions  true if more mirrors may be added */

/**
 * @typedef {object} Asked  what a mirror may be asked for
 * @property {number} now
 * @property {number} mirrorCount  how many mirrors may be asked at the same time
 * @property {boolean} isIdle  true if the mirror has no task
 * @property {boolean} smallOnly  true if the task must be small
 */

/**
 * @typedef {Asked & { mayRace: boolean }} AskedForBlob  `mayRace`: true if the mirror may fetch a segment that another
 *   one is fetching
 */

/**
 * @typedef {object} Stage
 * @property {boolean} isDone  true when the stage has nothing left to fetch
 * @property {(candidate: Candidate, asked: AskedForBlob) => Task | undefined} nextTask  returns undefined when there
 *   is no task for the mirror now
 * @property {(candidates: Candidate[]) => boolean} isHopeless  returns true if nothing is under way and none of the
 *   candidates can help
 * @property {{ done: number, total?: number }} progress  bytes
 */

/**
 * @typedef {object} Task  one request to a mirror
 * @property {(onArrived: () => void) => Promise<void>} run  fails only with errors that end the download. It may call
 *   `onArrived` when the mirror has sent everything, so that the mirror gets its next task while the store still writes
 * @property {boolean} isSmall  true if it is for at most 1 MiB
 */

export {}
