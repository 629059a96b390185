// Makes docs/cli.md from the table of commands. Run as a program, it writes the page.
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { COMMANDS, TABLE } from '../../bin/table/index.js'
import { commandHelp, programHelp } from '../../bin/line/help.js'

/** @returns {string} */
export const commandLinePage = () => `# The command line

<!-- Made by: node test/support/command-line-page.js -->

\`npx baobox COMMAND\`, or \`node bin/baobox.js COMMAND\` in a checkout. Results go to stdout, errors and progress to
stderr; progress is shown on terminals only.

- \`-\` means stdin or stdout wherever a file may stand.
- A blob of a store is named by its CID, by the 64 hexadecimal digits of its hash, or by a tag.
- The store is the folder that \`--store\` names, else the one in \`BAOBOX_STORE\`, else \`baobox\` in the data
  folder of the user: \`$XDG_DATA_HOME\` or \`~/.local/share\`, on macOS \`~/Library/Application Support\`, on
  Windows \`%LOCALAPPDATA%\`. Commands that put something make a missing store; when they fail and the store is
  empty, they delete it again.
- A store that another process has open can be read: \`get\`, \`cat\`, \`ls\`, \`stat\`, \`has\`, \`missing\`,
  \`export\`, \`encode\`, \`outboard\`, \`slice\` and \`tree\` read a copy of its databases then, and say so on stderr.
  While that process is \`baobox serve\`, it does the work of \`add\`, \`concat\`, \`receive\`, \`fetch\`, \`import\`,
  \`rm\`, \`tag\`, \`gc\` and \`compact\`, and each command says so. Others fail with \`STORE_LOCKED\`, or wait
  with \`--wait\`.
- \`--json\` prints one JSON object a line, with sizes in bytes, CIDs as text, and times in ISO 8601. \`--bytes\` prints
  exact numbers where people otherwise get KiB, MiB or GiB.
- When the reader of stdout ends early, as \`head\` does, baobox ends quietly with exit code 0.
- Completion: \`eval "$(baobox completion bash)"\` in \`~/.bashrc\`; for zsh the same with \`zsh\` in \`~/.zshrc\`,
  below \`compinit\`; for fish \`baobox completion fish | source\`.

\`\`\`text
${programHelp(TABLE).trimEnd()}
\`\`\`

${Object.entries(COMMANDS).map(([name, command]) => `## baobox ${name}

\`\`\`text
${commandHelp(name, command).trimEnd()}
\`\`\`
`).join('\n')}`

const PAGE = new URL('../../docs/cli.md', import.meta.url)
if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(PAGE, commandLinePage())
