// Runs the suites in other runtimes: `npm run test:runtimes`, or some of them: `node test/runtimes/run.js node@22 bun`.
// Each runtime comes as a package of npm and stays in node_modules/.cache. Where one cannot be had, a line says
// NOT RUN.
//
// Two run at a time. A runtime that passes shows its counts; the whole output of those that fail comes last.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ALL = ['node@26', 'bun', 'deno', 'node@22', 'node@24', 'workerd']
/**
 * With EFFORT below 1, each of three versions of Node.js runs a third of the suites that need a module of Node.js, a
 * sixth of those that pages run, too, and a ninth of those that `npm run test:heavy` runs. `npm test` and
 * `npm run test:heavy` run all in another version of Node.js. Bun, which alone has its engine, runs all suites, and a
 * sixth of the heavy ones. Deno has the engine of Node.js and of Chromium, so it runs a third of the suites that pages
 * run, and another sixth of the heavy ones. workerd runs all suites that it can. `name:1/1:3/6:3/3` means all suites,
 * but the third sixth of the heavy ones, and the last third of those that pages run.
 */
const LESS = [
  'bun:1/1:1/6:1/1', 'deno:1/1:4/6:3/3', 'node@26:1/3:1/9:1/6', 'node@22:2/3:5/9:3/6', 'node@24:3/3:9/9:5/6', 'workerd'
]

const CACHE = fileURLToPath(new URL('../../node_modules/.cache/runtimes/', import.meta.url))
const SUITES = fileURLToPath(new URL('suites.js', import.meta.url))
const WORKERD = fileURLToPath(new URL('workerd/run.js', import.meta.url))
const { 'node-option': OPTIONS } = JSON.parse(readFileSync(new URL('../../.mocharc.json', import.meta.url), 'utf8'))
/** Flags of V8, as `npm test` gives them to Node.js. */
const FLAGS = OPTIONS.map(option => `--${option}`)
const IS_WINDOWS = process.platform === 'win32'
const NPM = [
  'install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error',
  '--fetch-retries=1', '--fetch-retry-mintimeout=1000'
]
/** Two, unless there is only one core. */
const AT_A_TIME = Math.min(2, availableParallelism())

/**
 * @param {string} wanted  `node@22`, `bun`, `deno`, `node@24:2/2`, `bun:1/1:1/6`
 * @returns {{ title: string, package: string, program: string, args: string[], runner?: string }} `package` brings
 *   `program`. `runner`: a script for Node.js that gets the path of the program, and starts it
 */
function describe (wanted) {
  const [spec, part = '1/1', heavy = part, pages = part] = wanted.split(':')
  const [name, version = 'latest'] = spec.split('@')
  const suites = [SUITES, `--part=${part}`, `--heavy=${heavy}`, `--pages=${pages}`]
  switch (name) {
    case 'node': {
      // The package `node` would fetch this one in an install script.
      const platform = `${IS_WINDOWS ? 'win' : process.platform}-${process.arch}`
      const args = [...FLAGS, ...suites]
      return { title: `Node.js ${version}`, package: `node-${platform}@${version}`, program: 'node', args }
    }
    case 'bun': return { title: 'Bun', package: `bun@${version}`, program: 'bun', args: suites }
    case 'deno': {
      const options = ['run', '--allow-all', '--no-lock', `--v8-flags=${FLAGS.join(',')}`]
      return { title: 'Deno', package: `deno@${version}`, program: 'deno', args: [...options, ...suites] }
    }
    case 'workerd': {
      return { title: 'workerd', package: `workerd@${version}`, program: 'workerd', args: [], runner: WORKERD }
    }
    default: throw new Error(`unknown runtime '${wanted}': choose from ${ALL.join(', ')}`)
  }
}

/** Fetches a runtime when it is missing or does not start. @returns {string} the path of its program */
function programOf ({ package: name, program }) {
  const folder = join(CACHE, name.replace('@', '-'))
  const path = join(folder, 'node_modules', '.bin', IS_WINDOWS ? `${program}.cmd` : program)
  if (!existsSync(path) || !starts(path)) {
    mkdirSync(folder, { recursive: true })
    const options = { stdio: ['ignore', 'ignore', 'pipe'], timeout: 180_000, shell: IS_WINDOWS }
    execFileSync('npm', [...NPM, '--prefix', folder, name], options)
    if (!starts(path)) throw new Error(`${name} is installed, but does not start`)
  }
  return path
}

const starts = path => spawnSync(path, ['--version'], { stdio: 'ignore', shell: IS_WINDOWS }).status === 0

const failed = /** @type {string[]} */ ([])
/** Lines that are shown of suites that pass: counts, and tests that were left out. */
const SHOWN = /^(\d+ passing, |left out )/

/** @param {string} title @param {string} program @param {string[]} args @returns {Promise<void>} */
const run = (title, program, args) => new Promise(resolve => {
  const began = performance.now()
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], shell: IS_WINDOWS })
  const pieces = /** @type {Buffer[]} */ ([])
  child.stdout.on('data', data => pieces.push(data))
  child.stderr.on('data', data => pieces.push(data))
  child.on('close', (code, signal) => {
    const output = Buffer.concat(pieces).toString()
    for (const line of output.split('\n').filter(line => SHOWN.test(line))) console.log(line)
    console.log(`${title} took ${Math.round((performance.now() - began) / 1000)} s`)
    if (code !== 0) {
      failed.push(`\n# In ${title}\n\n${output}\nthe suites failed in ${title}: ${signal ?? `exit code ${code}`}`)
    }
    resolve()
  })
})

const { EFFORT = 0.2 } = process.env
const isLess = process.argv.length === 2 && Number(EFFORT) < 1
const waiting = process.argv.length > 2 ? process.argv.slice(2) : isLess ? LESS : ALL
console.log(`runtimes at EFFORT=${EFFORT}: ${waiting.join(', ')}`)
if (isLess) console.log('each runs a share of the suites; EFFORT=1 runs all suites in all runtimes')

const runNext = async () => {
  for (let wanted; (wanted = waiting.shift()) !== undefined;) {
    const { title, args, runner, ...runtime } = describe(wanted)
    let program
    try {
      program = programOf(runtime)
    } catch (error) {
      const reason = String(error.stderr || error.message).trim().split('\n')[0]
      console.log(`NOT RUN: the suites in ${title}. It could not be had: ${reason}`)
      continue
    }
    if (runner === undefined) await run(title, program, args)
    else await run(title, process.execPath, [runner, program])
  }
}
await Promise.all(Array.from({ length: AT_A_TIME }, runNext))

for (const output of failed) console.log(output)
if (failed.length > 0) process.exitCode = 1
