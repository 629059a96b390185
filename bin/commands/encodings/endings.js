// Finds in the name of an outboard's file how the outboard is written. An outboard has nothing in it that tells.

import { UsageError } from '../../terminal/errors.js'

/** bao's group log. */
export const BAO_LOG = 0

/**
 * What the ending of a name says: `.obao4` is group log 4 without a header, as iroh and the HTTP handler name such
 * files, and so on for 0 to 16; `.obao` is bao's outboard, with a header.
 *
 * @param {string | undefined} name
 * @returns {{ groupLog: number, header: boolean } | undefined} undefined if it says nothing
 */
function endingOf (name) {
  const [all, log] = /\.obao(\d|1[0-6])?$/.exec(name ?? '') ?? []
  return all === undefined ? undefined : { groupLog: Number(log ?? BAO_LOG), header: log === undefined }
}

/**
 * How to write an outboard.
 *
 * @param {string | undefined} output  the name of its file @param {number | undefined} groupLog  of --group-log
 * @param {boolean} [noHeader]  of --no-header
 * @returns {{ groupLog: number, header: boolean }}
 * @throws {UsageError} when the name says another group log: readers would take the outboard for a wrong one
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
 * The group log of an outboard to be read. The option wins, because the file may have a wrong name.
 *
 * @param {string} file @param {number | undefined} groupLog  of --group-log
 */
export const groupLogOf = (file, groupLog) => groupLog ?? endingOf(file)?.groupLog ?? BAO_LOG
