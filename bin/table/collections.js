// Commands about collections, and the options of folders that become collections.

import { define, filledTexts, json, store, text } from './options.js'

/** Which files of a folder are meant, and under which names. */
export const selection = {
  include: filledTexts('PATTERN', 'only files that it matches, as in .gitignore; may be repeated'),
  ignore: filledTexts('PATTERN', 'leave out what it matches, as in .gitignore; may be repeated'),
  top: text('NAME', 'what the names begin with instead of the name of the folder; empty for nothing')
}

export const diff = define({
  summary: 'compare a collection or manifest with a folder',
  operands: 'CID DIR',
  options: { store, ...selection, json },
  notes: [
    'Prints a line for each file that differs: added when only DIR has it, removed when only CID has it, changed ' +
    'when it has other bytes. Exits with 1 when there are any. The names are those that add -r would give.'
  ],
  examples: ['baobox diff site public', 'baobox diff bagaac... photos --ignore .DS_Store']
})
