// Makes docs/cli.md from the table of commands. Run as a program, it writes the page.
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { COMMANDS, TABLE } from '../../bin/table/index.js'
import { commandHelp, programHelp } from '../../bin/line/help.js'
import { withContents } from './links.js'

/** @returns {string} */
export const commandLinePage = () => withContents(`# The command line

<!-- Made by: node test/support/command-line-page.js -->

\`npx baobox COMMAND\`, or \`node bin/baobox.js COMMAND\` in a checkout. Results go to stdout, errors and progress to
stderr. Where stderr is no terminal, work of more than 10 s prints a line every 10 s, but not with \`--json\` or
\`--quiet\`.

<!-- contents -->
<!-- /contents -->

- \`put\` is another name of \`add\`, and \`list\` of \`ls\`.
- \`-\` means stdin or stdout wherever a file may stand. Options may stand anywhere, also before the command.
- A blob of a store is named by its CID, by the 64 hexadecimal digits of its hash, or by a tag.
- The store is the folder that \`--store\` names, else the one in \`BAOBOX_STORE\`, else \`baobox\` in the data
  folder of the user: \`$XDG_DATA_HOME\` or \`~/.local/share\`, on macOS \`~/Library/Application Support\`, on
  Windows \`%LOCALAPPDATA%\`. Commands that put something make a missing store; when they fail and the store is
  empty, they delete it again.
- A store that another process has open can be read: \`get\`, \`cat\`, \`ls\`, \`stat\`, \`has\`, \`missing\`,
  \`export\`, \`encode\`, \`outboard\`, \`slice\` and \`tree\` read a copy of its databases then, and say so on stderr.
  While that process is \`baobox serve\`, it does the work of \`add\`, \`concat\`, \`receive\`, \`fetch\`, \`import\`,
  \`rm\`, \`tag\`, \`gc\` and \`compact\`, and each command says so. Others fail with \`STORE_LOCKED\`, or wait
  with \`--wait\`. While another command has the store open, every command that changes it waits, 10 seconds or as long
  as \`--wait\` says. So several commands can be started at once.
- \`--json\` prints one JSON object a line, with sizes in bytes, CIDs as text, and times in ISO 8601. An error is
  \`{ "error": { "code", "message", ... } }\` on stderr, with the code and properties of [errors.md](errors.md), or with
  the code of the system; \`USAGE\`, \`INTERRUPTED\` or \`FAILED\` for all others. \`--bytes\` prints exact numbers
  where people otherwise get KiB, MiB or GiB.
- When the reader of stdout ends early, as \`head\` does, baobox ends quietly with exit code 0.
- Completion: \`eval "$(baobox completion bash)"\` in \`~/.bashrc\`; for zsh the same with \`zsh\` in \`~/.zshrc\`,
  below \`compinit\`; for fish \`baobox completion fish | source\`. It knows the tags of the
  store, except those with blanks or other characters that mean something to a shell.

## At a glance

\`\`\`sh
baobox hash FILE; baobox hash --check SUMS     # BLAKE3, with every option of b3sum
baobox cid FILE; baobox tree FILE              # its CID; its hash tree, as text or SVG
baobox add FILE --tag NAME                     # put a file into a store; prints its CID
baobox get CID part --start 0 --end 1MiB       # read a range, verified; tags may stand for CIDs
baobox cat CID | wc -c                         # the same to stdout
baobox concat CID CID --tag NAME               # one blob of several that are there
baobox add -r DIR; baobox get -r CID OUT       # a folder under one CID, as in sendme; and back, to OUT/DIR
baobox ls CID; baobox cat CID/NAME             # the names in it; one of its files
baobox diff CID DIR                            # what has changed since
baobox ls; baobox stat CID; baobox has CID     # list blobs; what is known of one
baobox tag NAME CID; baobox gc; baobox rm CID  # name what gc must keep; delete all others; delete one without a tag
baobox compact; baobox fsck; baobox rescue     # free disk space; check a store; rebuild a broken one
baobox fetch CID FILE --from URL --from URL    # download from several mirrors, verified; it can be resumed
baobox fetch -r CID -o DIR --from URL/{cid}    # a folder, with all of its files
baobox push FILE --to URL --token TOKEN        # send a file or folder to a server that keeps uploads
baobox serve --port 4700                       # let others read the store over HTTP, verified
baobox serve --iroh --ticket CID               # the same for peers of iroh, and a ticket for them
baobox fetch TICKET                            # download what a peer of iroh has, such as sendme
baobox publish DIR --out SITE                  # a site for static hosts, verified in the browser
baobox bucket adopt s3://BUCKET/PREFIX         # make blobs of objects that are in a bucket already
baobox encode FILE FILE.bao                    # with the arguments of bao: bytes and hash tree in one
baobox outboard FILE FILE.obao4                # the hash tree alone; the ending says at which group log
baobox decode HASH FILE.bao FILE               # verify an encoding, and write its bytes
baobox slice 1MiB 64KiB FILE.bao part.slice    # cut what proves a range; also from a blob in a store
baobox decode-slice HASH 1MiB 64KiB part.slice # verify a slice from anyone, and write its bytes
baobox slice 0 64KiB CID four --group-log 4    # with the groups of a store ...
baobox receive CID four --end 64KiB            # ... into another store; the rest can come later
baobox missing CID                             # print the ranges that the store lacks
baobox export CID -o a.car; baobox import a.car  # CAR archives
baobox bench; baobox demo                      # how fast this machine is; all of it on one file, explained
baobox help COMMAND; baobox completion bash    # more on each command; completion for bash, zsh and fish
\`\`\`

## All commands

\`\`\`text
${programHelp(TABLE).trimEnd()}
\`\`\`

${Object.entries(COMMANDS).map(([name, command]) => `## baobox ${name}

\`\`\`text
${commandHelp(name, command).trimEnd()}
\`\`\`
`).join('\n')}`)

const PAGE = new URL('../../docs/cli.md', import.meta.url)
if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(PAGE, commandLinePage())
