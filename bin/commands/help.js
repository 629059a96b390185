// baobox help and completion

import { SHELLS, completionOf } from '../line/completion.js'
import { commandHelp, programHelp } from '../line/help.js'
import { unknownCommand } from '../line/suggest.js'
import { UsageError } from '../terminal/errors.js'
import { print } from '../terminal/output.js'
import { commandName } from '../line/synonyms.js'

/** @import { Run } from '../types.js' */

/** @type {Run<typeof import('../table/program.js').help>} */
export async function help ({ operands: [given] }, { table }) {
  if (given === undefined) return print(programHelp(table))
  const name = commandName(given)
  const commands = Object.assign({}, ...Object.values(table))
  if (!Object.hasOwn(commands, name)) throw unknownCommand(name, Object.keys(commands))
  await print(commandHelp(name, commands[name]))
}

/** @type {Run<typeof import('../table/program.js').completion>} */
export async function completion ({ operands: [shell] }, { table }) {
  if (!SHELLS.includes(shell)) throw new UsageError(`unknown shell '${shell}': expected ${SHELLS.join(', ')}`)
  await print(completionOf(shell, table))
}
