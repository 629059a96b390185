// Commands about collections, and the options of folders that become collections.

import { define, filledTexts, json, store, storeInBucket, text } from './options.js'

/** The options that select files of a folder, and name them. */
export const selection = {
  include: filledTexts('PATTERN', 'take only files that match, as in .gitignore; may be repeated'),
  ignore: filledTexts('PATTERN', 'leave out files and folders that match, as in .gitignore; may be repeated'),
  top: text('NAME', "replace the folder's name, with which all names begin; empty removes it")
}

export const diff = define({
  summary: 'compare a collection or manifest with a folder',
  operands: 'CID DIR',
  options: { store, ...storeInBucket, ...selection, json },
  notes: [
    'Prints a line for each file that differs: added if only DIR has it, removed if only CID has it, changed ' +
    'if the bytes differ. Exits with 1 if any file differs. The names are those that add -r would give.'
  ],
  examples: ['baobox diff site public', 'baobox diff bagaac... photos --ignore .DS_Store']
})
