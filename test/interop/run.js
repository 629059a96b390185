// Tests baobox beside the commands `bao` and `b3sum`, and among peers of iroh: `npm run test:interop`. `--install`
// compiles the commands by cargo where they are not found, and installs the package of iroh. `--compile-peer` compiles
// a program with iroh-blobs, and sendme, which takes 10 to 30 minutes. Where something cannot be had, a line says
// NOT RUN.
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { NAMES, have, variableOf } from './find.js'
import { havePackage, havePeer, haveSendme } from './iroh/find.js'

const MOCHA = createRequire(import.meta.url).resolve('mocha/bin/mocha.js')
const SUITES = { bao: ['bao.js', 'bao-command.js'], b3sum: ['b3sum.js'] }
/** What skips its tests elsewhere, where the package is not installed. */
const PEERS = [
  '../exchange/iroh/peers.test.js', '../bin/commands/network/peers.test.js', 'iroh/guide.js'
]

const { values: { install, 'compile-peer': compile } } = parseArgs({
  options: { install: { type: 'boolean' }, 'compile-peer': { type: 'boolean' } }
})

for (const tool of NAMES) {
  attempt(`the command ${tool}`, () => run(SUITES[tool], { [variableOf(tool)]: have(tool, { install }).program }))
}
attempt('the package of iroh', () => {
  havePackage({ install })
  run(PEERS)
  attempt('iroh-blobs', () => run(['iroh/folders.js'], { IROH_PEER: havePeer({ install: compile }) }))
  attempt('sendme', () => run(['iroh/sendme.js'], { SENDME: haveSendme({ install: compile }) }))
})

/** @param {string} other  what is tested beside @param {() => void} work  throws when that cannot be had */
function attempt (other, work) {
  try {
    work()
  } catch (error) {
    console.log(`NOT RUN: interop with ${other}. It could not be had: ${error.message}`)
  }
}

/** @param {string[]} suites  paths from this folder @param {Record<string, string>} [env] */
function run (suites, env) {
  const paths = suites.map(name => fileURLToPath(new URL(name, import.meta.url)))
  const { status } = spawnSync(process.execPath, [MOCHA, '--no-config', '--timeout', '300000', ...paths], {
    stdio: 'inherit',
    env: { ...process.env, ...env }
  })
  if (status !== 0) process.exitCode = status ?? 1
}
