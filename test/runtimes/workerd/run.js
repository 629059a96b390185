// Runs suites in workerd, the runtime of Cloudflare Workers: `node test/runtimes/workerd/run.js PROGRAM`, where PROGRAM
// is the path of workerd. Further arguments are paths of suites from the folder `test`: only these run.
//
// The suites are one function, which a test of the Worker calls, because Workers refuse timers and random numbers while
// a module is loaded.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { suites as suitesOfPages } from '../../browser/bundle.js'
import { ALL, EFFORT, SEED } from '../../support/runtime.js'
import { FOLDERS, SUITES, TITLES } from './left-out.js'

const TESTS = fileURLToPath(new URL('../..', import.meta.url))
const ENGINE = new URL('../../../lib/engine/kernel/engine.wasm', import.meta.url)
/** Milliseconds. */
const LONGEST = 30 * 60_000
/** The files that suites read. */
const FILES = [
  'vectors/vectors.json', 'vectors/iroh_vectors.json', 'property/seeds.json',
  '../../shared/conformance/blake3_test_vectors.json', '../../shared/conformance/bao_test_vectors.json'
]

const [program, ...chosen] = process.argv.slice(2)
const version = execFileSync(program, ['--version'], { encoding: 'utf8' }).trim().split(' ').at(-1)

const isRun = path => FOLDERS.some(folder => path.startsWith(folder)) && !Object.hasOwn(SUITES, path)
const paths = chosen.length > 0 ? chosen : suitesOfPages().filter(isRun)

const CONFIG = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (services = [
  (name = "suites", worker = .suites),
  (name = "internet", network = (allow = ["private"]))
]);
const suites :Workerd.Worker = (
  modules = [
    (name = "worker.js", esModule = embed "worker.js"),
    (name = "engine.wasm", wasm = embed "engine.wasm"),
    (name = "files.json", json = embed "files.json")
  ],
  compatibilityDate = "2025-09-01"
);
`

const SETTINGS = { version, effort: EFFORT, seed: SEED, all: ALL, titles: TITLES, isWhole: chosen.length === 0 }

/** The Worker. The bundle is the body of a function. @param {string} bundle */
const workerOf = bundle => `import engine from './engine.wasm'
import files from './files.json'
export default {
  async test () {
    globalThis.suites = { ...${JSON.stringify(SETTINGS)}, engine, files }
    await runSuites()
    await globalThis.suites.done
  }
}
async function runSuites () {
${bundle}
}
`

/** Gives the compiled engine to the package, as a bundler for Workers does with a file that is imported. */
const wasm = {
  name: 'wasm',
  setup (build) {
    build.onLoad({ filter: /\.wasm$/ }, () => ({ contents: 'export default globalThis.suites.engine' }))
  }
}

async function bundle () {
  const names = ['runtimes/workerd/mocha.js', ...paths, 'runtimes/workerd/start.js']
  const { outputFiles: [{ text }] } = await build({
    stdin: { contents: names.map(name => `import './${name}'`).join('\n'), resolveDir: TESTS },
    bundle: true,
    format: 'esm',
    platform: 'browser',
    conditions: ['workerd', 'worker'],
    target: 'es2022',
    keepNames: true,
    plugins: [wasm],
    write: false,
    logLevel: 'error'
  })
  return text
}

const filesOf = () => Object.fromEntries(FILES.flatMap(path => {
  try {
    return [[path, JSON.parse(readFileSync(join(TESTS, path), 'utf8'))]]
  } catch (error) {
    if (error.code === 'ENOENT') return []
    throw error
  }
}))

const folder = mkdtempSync(join(tmpdir(), 'baobox-workerd-'))
try {
  writeFileSync(join(folder, 'config.capnp'), CONFIG)
  writeFileSync(join(folder, 'worker.js'), workerOf(await bundle()))
  writeFileSync(join(folder, 'engine.wasm'), readFileSync(ENGINE))
  writeFileSync(join(folder, 'files.json'), JSON.stringify(filesOf()))
  const { status } = spawnSync(program, ['test', join(folder, 'config.capnp')], { stdio: 'inherit', timeout: LONGEST })
  process.exitCode = status === 0 ? 0 : 1
} finally {
  rmSync(folder, { recursive: true })
}
