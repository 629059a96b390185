// The suites in other runtimes: `node test/runtimes/run.js node@22 bun deno`. Each comes as a package of npm and stays in node_modules/.cache.
// Where one cannot be had, one line says what was not run. Two run at a time; of one that passes its counts are shown, and last of all comes
// everything that those said that failed.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const CACHE = fileURLToPath(new URL('../../node_modules/.cache/runtimes/', import.meta.url))
const SUITES = fileURLToPath(new URL('suites.js', import.meta.url))
const IS_WINDOWS = process.platform === 'win32'
const NPM = ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error', '--fetch-retries=1', '--fetch-retry-mintimeout=1000']

/** The package that brings a runtime, its program, and how that runs a file. @param {string} wanted  like node@22 */
function describe (wanted) {
  const [name, version = 'latest'] = wanted.split('@')
  switch (name) {
    // The package `node` would fetch this one in a script of its own.
    case 'node': return { title: `Node.js ${version}`, package: `node-${IS_WINDOWS ? 'win' : process.platform}-${process.arch}@${version}`, program: 'node', args: [] }
    case 'bun': return { title: 'Bun', package: `bun@${version}`, program: 'bun', args: [] }
    case 'deno': return { title: 'Deno', package: `deno@${version}`, program: 'deno', args: ['run', '--allow-all', '--no-lock'] }
    default: throw new Error(`no such runtime: ${wanted}`)
  }
}

/** @returns {string} the path of the program, which is fetched when it is not there or does not start */
function programOf ({ package: name, program }) {
  const folder = join(CACHE, name.replace('@', '-'))
  const path = join(folder, 'node_modules', '.bin', IS_WINDOWS ? `${program}.cmd` : program)
  if (!existsSync(path) || !starts(path)) {
    mkdirSync(folder, { recursive: true })
    execFileSync('npm', [...NPM, '--prefix', folder, name], { stdio: ['ignore', 'ignore', 'pipe'], timeout: 180_000, shell: IS_WINDOWS })
    if (!starts(path)) throw new Error(`${name} is there, but does not start`)
  }
  return path
}

const starts = path => spawnSync(path, ['--version'], { stdio: 'ignore', shell: IS_WINDOWS }).status === 0

const failed = /** @type {string[]} */ ([])
/** What is shown of suites that pass: counts, and what was left out. */
const COUNTS = /^(\d+ passing, |left out )/

/** @param {string} title @param {string} program @param {string[]} args @returns {Promise<void>} */
const run = (title, program, args) => new Promise(resolve => {
  const child = spawn(program, [...args, SUITES], { stdio: ['ignore', 'pipe', 'pipe'], shell: IS_WINDOWS })
  const pieces = /** @type {Buffer[]} */ ([])
  child.stdout.on('data', data => pieces.push(data))
  child.stderr.on('data', data => pieces.push(data))
  child.on('close', (code, signal) => {
    const said = Buffer.concat(pieces).toString()
    for (const line of said.split('\n').filter(line => COUNTS.test(line))) console.log(line)
    if (code !== 0) failed.push(`\n# In ${title}\n\n${said}\nthe suites failed in ${title}: ${signal ?? `exit code ${code}`}`)
    resolve()
  })
})

const waiting = process.argv.slice(2)
const runNext = async () => {
  for (let wanted; (wanted = waiting.shift()) !== undefined;) {
    const { title, args, ...runtime } = describe(wanted)
    let program
    try {
      program = programOf(runtime)
    } catch (error) {
      console.log(`NOT RUN: the suites in ${title}. It could not be had: ${String(error.stderr || error.message).trim().split('\n')[0]}`)
      continue
    }
    await run(title, program, args)
  }
}
await Promise.all(Array.from({ length: Math.min(2, availableParallelism()) }, runNext))

for (const said of failed) console.log(said)
if (failed.length > 0) process.exitCode = 1
