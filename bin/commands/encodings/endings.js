// Finds out from the name of an outboard's file which group log the outboard has, and whether it has a header. Nothing
// in the outboard says so.

import { UsageError } from '../../terminal/errors.js'

/** bao's group log. */
export const BAO_LOG = 0

/**
 * Reads the ending of a name. `.obao0` to `.obao16` mean this group log, and no header: iroh and the HTTP handler name
 * outboards so. `.obao` means an outboard of bao, with a header.
 *
 * @param {string | undefined} name
 * @returns {{ groupLog: number, header: boolean } | undefined} undefined if the name has another ending
 */
function endingOf (name) {
  const [all, log] = /\.obao(\d|1[0-6])?$/.exec(name ?? '') ?? []
  return all === undefined ? undefined : { groupLog: Number(log ?? BAO_LOG), header: log === undefined }
}

/**
 * Decides how to write an outboard.
 *
 * @param {string | undefined} output  the name of its file
 * @param {number | undefined} groupLog  the value of --group-log
 * @param {boolean} [noHeader]  true if --no-header was given
 * @returns {{ groupLog: number, header: boolean }}
 * @throws {UsageError} when the name means another group log than the option: readers would misread the outboard
 */
export function layoutFor (output, groupLog, noHeader = false) {
  const ending = endingOf(output)
  if (ending !== undefined && groupLog !== undefined && groupLog !== ending.groupLog) {
    throw new UsageError(`--group-log ${groupLog} contradicts '${output}', which means ${ending.groupLog}: leave out ` +
      'the option, or choose another name')
  }
  return { groupLog: groupLog ?? ending?.groupLog ?? BAO_LOG, header: !noHeader && (ending?.header ?? true) }
}

/**
 * Decides with which group log to read an outboard. The option overrides the name, which may be wrong.
 *
 * @param {string} file @param {number | undefined} groupLog  the value of --group-log
 */
export const groupLogOf = (file, groupLog) => groupLog ?? endingOf(file)?.groupLog ?? BAO_LOG
