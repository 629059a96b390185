// Writes the completion scripts of bash, zsh and fish.

import { operandsOf } from './parse.js'

/** @import { Command, Option, Table } from '../types.js' */

export const SHELLS = ['bash', 'zsh', 'fish']

/**
 * @param {string} shell  one of SHELLS
 * @param {Table} table
 * @returns {string}
 */
export function completionOf (shell, table) {
  const commands = Object.entries(Object.assign({}, ...Object.values(table)))
  if (shell === 'bash') return bash(commands)
  return shell === 'zsh' ? zsh(commands) : fish(commands)
}

/** @typedef {[name: string, command: Command][]} Commands */

/**
 * Prints the tags of a store, one a line. Only those are completed that mean nothing to a shell: anybody who can set a
 * tag could otherwise run a command in the shell of somebody who presses TAB.
 */
const PLAIN_TAGS = "2>/dev/null | sed -n 's|^[a-z0-9]* *[a-z]* *\"\\([A-Za-z0-9._/+@][A-Za-z0-9._/+@-]*\\)\"$|\\1|p'"

/** True if the value of an option is a tag, or may be one. @param {string} name @param {Option<unknown>} option */
const takesTag = (name, { value }) => value === 'CID' || (name === 'tag' && value !== undefined)

/** True if some operand of a command may be a tag. @param {Command} command */
const namesBlobs = command => command.hasTags || operandsOf(command).some(({ name }) => name === 'CID')

/** The options with a value of all commands: their values may stand before the command. @param {Commands} commands */
const optionsWithValues = commands =>
  [...new Set(commands.flatMap(([, command]) => spellings(command, hasValue)))].join('|')

/** @param {Commands} commands */
const bash = commands => `# Completion of baobox in bash. To use it: eval "$(baobox completion bash)"
_baobox_tags () {
  local i store=()
  for ((i = 1; i < COMP_CWORD - 1; i++)); do
    if [ "\${COMP_WORDS[i]}" = --store ]; then store=(--store "\${COMP_WORDS[i + 1]}"); fi
  done
  baobox tag "\${store[@]}" ${PLAIN_TAGS}
}
_baobox () {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} options= values= at
  for ((at = 1; at < COMP_CWORD; at++)); do
    case \${COMP_WORDS[at]} in
      ${optionsWithValues(commands)}) ((at++)) ;;
      -*) ;;
      *) break ;;
    esac
  done
  if [ "$at" -gt "$COMP_CWORD" ]; then return; fi
  if [ "$at" -eq "$COMP_CWORD" ]; then
    COMPREPLY=($(compgen -W '${commands.map(([name]) => name).join(' ')} --help --version' -- "$cur"))
    return
  fi
  case \${COMP_WORDS[at]} in
${commands.map(([name, command]) => `    ${name})
      options='${spellings(command).join(' ')} --help'
      values=${command.hasTags ? 'FILES' : namesBlobs(command) ? 'TAGS' : `'${(command.choices ?? []).join(' ')}'`}
      case $prev in
        ${spellings(command, takesTag).join('|') || '""'}) values=TAGS ;;
        ${spellings(command, hasValue).join('|') || '""'}) return ;;
      esac ;;`).join('\n')}
    *) return ;;
  esac
  case $cur in
    -*) COMPREPLY=($(compgen -W "$options" -- "$cur")) ;;
    *)
      if [ "$values" = FILES ]; then
        compopt -o filenames 2>/dev/null
        local IFS=$'\\n'
        COMPREPLY=($(compgen -W "$(_baobox_tags)" -- "$cur"; compgen -f -- "$cur"))
        return
      fi
      if [ "$values" = TAGS ]; then values=$(_baobox_tags); fi
      COMPREPLY=($(compgen -W "$values" -- "$cur")) ;;
  esac
}
# If nothing else fits, bash completes file names.
complete -o default -F _baobox baobox
`

/** @param {string} _name @param {Option<unknown>} option */
const hasValue = (_name, { value }) => value !== undefined

/**
 * The long and short names of options of a command.
 *
 * @param {Command} command @param {(name: string, option: Option<unknown>) => boolean} [isWanted]  default: all
 */
const spellings = ({ options }, isWanted = () => true) => Object.entries(options)
  .filter(([name, option]) => isWanted(name, option))
  .flatMap(([name, { short }]) => [`--${name}`, ...short ? [`-${short}`] : []])

/** @param {Commands} commands */
const zsh = commands => `#compdef baobox
# Completion of baobox in zsh. To use it: eval "$(baobox completion zsh)"
_baobox_tags () {
  local -a tags
  tags=(\${(f)"$(baobox tag \${opt_args[--store]:+--store=\${opt_args[--store]}} ${PLAIN_TAGS})"})
  compadd -- $tags
}
_baobox_sources () {
  _baobox_tags
  _files
}
_baobox () {
  local -a commands
  commands=(
${commands.map(([name, { summary }]) => `    ${quoted(`${name}:${summary}`)}`).join('\n')}
  )
  local -i at=2
  while (( at < CURRENT )) && [[ $words[at] == -* ]]; do
    case $words[at] in
      ${optionsWithValues(commands)}) (( at += 2 )) ;;
      *) (( at++ )) ;;
    esac
  done
  if (( at > CURRENT )); then
    _files
    return
  fi
  if (( at == CURRENT )); then
    _describe command commands
    return
  fi
  local command=$words[at]
  words=("$command" "\${(@)words[2,at-1]}" "\${(@)words[at+1,-1]}")
  (( CURRENT-- ))
  case $command in
${commands.map(([name, command]) => `    ${name}) _arguments -s ${zshArguments(command).join(' ')} ;;`).join('\n')}
  esac
}
compdef _baobox baobox
`

/** @param {Command} command */
const zshArguments = command => [
  ...Object.entries(command.options).map(([name, option]) => {
    const { short, value, help } = option
    const values = takesTag(name, option) ? '_baobox_tags' : '_files'
    const rest = `[${help.replace(/[[\]:\\]/g, '\\$&')}]${value ? `:${value}:${values}` : ''}`
    if (!short) return quoted(`--${name}${value ? '=' : ''}${rest}`)
    const both = `'(-${short} --${name})'`
    return `${both}{-${short}${value ? '+' : ''},--${name}${value ? '=' : ''}}${quoted(rest)}`
  }),
  quoted('--help[print the help]'),
  ...operandsOf(command).map(({ name, isOptional, isMany }) => {
    const values = command.choices
      ? `(${command.choices.join(' ')})`
      : name === 'CID'
        ? '_baobox_tags'
        : command.hasTags ? '_baobox_sources' : '_files'
    return quoted(`${isMany ? '*' : ''}${isOptional && !isMany ? ':' : ''}:${name}:${values}`)
  })
]

/** @param {Commands} commands */
const fish = commands => `# Completion of baobox in fish. To use it: baobox completion fish | source
function __baobox_tags
  set -l words (commandline -opc)
  set -l store
  if set -l at (contains -i -- --store $words)
    set store --store $words[(math $at + 1)]
  end
  baobox tag $store ${PLAIN_TAGS}
end
function __baobox_no_command
  not __fish_seen_subcommand_from ${commands.map(([name]) => name).join(' ')}
end
complete -c baobox -n __baobox_no_command -f -l help -s h -d 'print the help'
complete -c baobox -n __baobox_no_command -f -l version -s V -d 'print the version'
complete -c baobox -n __baobox_no_command -l store -r -d 'the store'
${commands.map(([name, command]) => fishLines(name, command).join('\n')).join('\n')}
`

/** @param {string} name @param {Command} command */
function fishLines (name, command) {
  const { summary, options, choices } = command
  const after = `complete -c baobox -n '__fish_seen_subcommand_from ${name}'`
  return [
    `complete -c baobox -n __baobox_no_command -f -a ${name} -d ${quotedForFish(summary)}`,
    ...Object.entries(options).map(([name, option]) => {
      const { short, value, help } = option
      const values = takesTag(name, option) ? " -f -r -a '(__baobox_tags)'" : value ? ' -r' : ''
      return `${after} -l ${name}${short ? ` -s ${short}` : ''}${values} -d ${quotedForFish(help)}`
    }),
    ...namesBlobs(command) ? [`${after} -a '(__baobox_tags)'`] : [],
    ...choices ? [`${after} -f -a ${quotedForFish(choices.join(' '))}`] : []
  ]
}

/** @param {string} text */
const quoted = text => `'${text.replaceAll("'", "'\\''")}'`

/** @param {string} text */
const quotedForFish = text => `'${text.replace(/['\\]/g, '\\$&')}'`
