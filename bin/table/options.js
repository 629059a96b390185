// Makes the definitions and options of commands. Defines the options that several commands share.

import { DEFAULT_GROUP_LOG, MAX_GROUP_LOG } from '../../lib/core/constants.js'
import { DEFAULT_WAIT, filled, integerFrom, parseGroupLog, parseSize } from '../line/values.js'

/** @import { Definition, Option, Options } from '../types.js' */

/**
 * Returns the definition that it gets. It exists for the types, which are derived from the options.
 *
 * @template {Options} O
 * @param {Definition<O>} definition
 */
export const define = definition => definition

/** @param {string} help @param {string} [short]  one letter @returns {Option<boolean>} */
export const flag = (help, short) => ({ help, short, read: () => true })

/**
 * @param {string} value  its name in the help
 * @param {string} help
 * @param {string} [short]  one letter
 * @returns {Option<string>}
 */
export const text = (value, help, short) => ({ value, help, short, read: given => given })

/** An option whose value must not be empty. @param {string} value  its name in the help @param {string} help */
export const filledText = (value, help) => ({ ...text(value, help), read: filled(value) })

/**
 * An option that may be given several times, each time with a value that is not empty.
 *
 * @param {string} value  its name in the help
 * @param {string} help
 * @returns {Option<string[]>}
 */
export const filledTexts = (value, help) => ({ value, help, isMany: true, read: given => [filled(value)(given)] })

/** @param {string} help @param {string} [short] @returns {Option<number>} */
export const size = (help, short) => ({ value: 'N', help, short, read: parseSize })

/** @param {number} [defaultLog] @returns {Option<number>} */
export const groupLog = (defaultLog = DEFAULT_GROUP_LOG) => ({
  value: 'LOG',
  help: `use chunk groups of 2^LOG KiB, 0 to ${MAX_GROUP_LOG}; bao uses 0, a store 4; default: ${defaultLog}`,
  read: parseGroupLog
})

export const store =
  text('DIR', "the store, or s3://BUCKET/PREFIX; default: $BAOBOX_STORE, or the one in the user's data folder")
/** Options for the server of a bucket. */
export const bucketServer = {
  endpoint: filledText('URL', "the server of the bucket; default: $AWS_ENDPOINT_URL_S3, or Amazon's server"),
  region: filledText('NAME', 'the region of the bucket; default: $AWS_REGION, or auto if there is an endpoint')
}
/** Options for a store in a bucket. */
export const storeInBucket = {
  ...bucketServer,
  cache: filledText('DIR', "with a store in a bucket: its local store; default: one in the user's cache folder"),
  'cache-quota': size('with a store in a bucket: keep at most N bytes of blobs in its local store; default: 10GiB')
}
/** Options of commands that only read from the store. */
export const readStore = {
  store,
  ...storeInBucket,
  'read-only': flag('change nothing in the store: read a copy of its databases; works on read-only media')
}
/** Seconds: 23 days. Timers take no more than 24. */
const MOST_WAIT = 2_000_000
/** Options of commands that change the store. */
export const writeStore = {
  store,
  ...storeInBucket,
  wait: {
    value: 'SECONDS',
    help: 'if another process has the store open, wait for it at most so long; 0 fails at once; ' +
      `default: ${DEFAULT_WAIT}, or 0 if that process is baobox serve`,
    read: integerFrom(0, MOST_WAIT)
  }
}
export const output = text('FILE', 'write to FILE, which appears only when it is complete; default: stdout', 'o')
export const json = flag('print each result as one line of JSON, and each error as one on stderr')
export const bytes = flag('print exact numbers of bytes')

/** The options of a range of bytes. --end and --count exclude each other. */
export const range = {
  start: size('first byte; default: 0'),
  end: size('first byte after the range; default: the end of the blob'),
  count: size('number of bytes, instead of --end')
}
/** @type {{ count: ('end')[] }} */
export const rangeExcludes = { count: ['end'] }
