// Commands about collections, and the options of folders that become collections.

import { filled } from '../line/values.js'
import { define, json, store } from './options.js'

/** @import { Option } from '../types.js' */

/** @param {string} help @returns {Option<string[]>} */
const patterns = help => ({ value: 'PATTERN', help, isMany: true, read: given => [filled('PATTERN')(given)] })

/** Which files of a folder are meant, and under which names. */
export const selection = {
  include: patterns('only files that it matches, as in .gitignore; may be repeated'),
  ignore: patterns('leave out what it matches, as in .gitignore; may be repeated'),
  top: {
    value: 'NAME',
    help: 'what the names begin with instead of the name of the folder; empty for nothing',
    read: (/** @type {string} */ given) => given
  }
}

export const diff = define({
  summary: 'compare a collection with a folder',
  operands: 'CID DIR',
  options: { store, ...selection, json },
  notes: [
    'Prints a line for each file that differs: added when only DIR has it, removed when only the collection has it, ' +
    'changed when it has other bytes. Exits with 1 when there are any. The names are those that add -r would give.'
  ],
  examples: ['baobox diff site public', 'baobox diff bagaac... photos --ignore .DS_Store']
})
