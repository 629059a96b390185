// Writes the completion scripts of bash, zsh and fish.

import { operandsOf } from './parse.js'

/** @import { Command, Table } from '../types.js' */

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

/** @param {Commands} commands */
const bash = commands => `# Completion of baobox in bash. To use it: eval "$(baobox completion bash)"
_baobox () {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} options= values=
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '${commands.map(([name]) => name).join(' ')} --help --version' -- "$cur"))
    return
  fi
  case \${COMP_WORDS[1]} in
${commands.map(([name, command]) => `    ${name})
      options='${spellings(command).join(' ')} --help'
      values='${(command.choices ?? []).join(' ')}'
      case $prev in ${spellings(command, true).join('|') || '""'}) return ;; esac ;;`).join('\n')}
    *) return ;;
  esac
  case $cur in
    -*) COMPREPLY=($(compgen -W "$options" -- "$cur")) ;;
    *) COMPREPLY=($(compgen -W "$values" -- "$cur")) ;;
  esac
}
# If nothing else fits, bash completes file names.
complete -o default -F _baobox baobox
`

/** The long and short names of a command's options. @param {Command} command @param {boolean} [onlyWithValue] */
const spellings = ({ options }, onlyWithValue = false) => Object.entries(options)
  .filter(([, { value }]) => !onlyWithValue || value !== undefined)
  .flatMap(([name, { short }]) => [`--${name}`, ...short ? [`-${short}`] : []])

/** @param {Commands} commands */
const zsh = commands => `#compdef baobox
# Completion of baobox in zsh. To use it: eval "$(baobox completion zsh)"
_baobox () {
  local -a commands
  commands=(
${commands.map(([name, { summary }]) => `    ${quoted(`${name}:${summary}`)}`).join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=\${words[2]}
  shift words
  (( CURRENT-- ))
  case $command in
${commands.map(([name, command]) => `    ${name}) _arguments -s ${zshArguments(command).join(' ')} ;;`).join('\n')}
  esac
}
compdef _baobox baobox
`

/** @param {Command} command */
const zshArguments = command => [
  ...Object.entries(command.options).map(([name, { short, value, help }]) => {
    const rest = `[${help.replace(/[[\]:\\]/g, '\\$&')}]${value ? `:${value}:_files` : ''}`
    if (!short) return quoted(`--${name}${value ? '=' : ''}${rest}`)
    const both = `'(-${short} --${name})'`
    return `${both}{-${short}${value ? '+' : ''},--${name}${value ? '=' : ''}}${quoted(rest)}`
  }),
  quoted('--help[print the help]'),
  ...operandsOf(command).map(({ name, isOptional, isMany }) => {
    const values = command.choices ? `(${command.choices.join(' ')})` : '_files'
    return quoted(`${isMany ? '*' : ''}${isOptional && !isMany ? ':' : ''}:${name}:${values}`)
  })
]

/** @param {Commands} commands */
const fish = commands => `# Completion of baobox in fish. To use it: baobox completion fish | source
complete -c baobox -n __fish_use_subcommand -f -l help -s h -d 'print the help'
complete -c baobox -n __fish_use_subcommand -f -l version -s V -d 'print the version'
${commands.map(([name, command]) => fishLines(name, command).join('\n')).join('\n')}
`

/** @param {string} name @param {Command} command */
function fishLines (name, { summary, options, choices }) {
  const after = `complete -c baobox -n '__fish_seen_subcommand_from ${name}'`
  return [
    `complete -c baobox -n __fish_use_subcommand -f -a ${name} -d ${quotedForFish(summary)}`,
    ...Object.entries(options).map(([option, { short, value, help }]) =>
      `${after} -l ${option}${short ? ` -s ${short}` : ''}${value ? ' -r' : ''} -d ${quotedForFish(help)}`),
    ...choices ? [`${after} -f -a ${quotedForFish(choices.join(' '))}`] : []
  ]
}

/** @param {string} text */
const quoted = text => `'${text.replaceAll("'", "'\\''")}'`

/** @param {string} text */
const quotedForFish = text => `'${text.replace(/['\\]/g, '\\$&')}'`
