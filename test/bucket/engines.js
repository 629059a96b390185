// Stores that speak S3, which the suites start: safe ones, and ones that the probe must refuse. They are installed into
// node_modules/.cache when asked.
import { spawn, spawnSync } from 'node:child_process'
import { createServer } from 'node:net'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { AwsClient } from 'aws4fetch'

const CACHE = fileURLToPath(new URL('../../node_modules/.cache/', import.meta.url))
const LONGEST = 20 * 60_000
const START_MS = 60_000
export const REGION = 'us-east-1'
export const BUCKET = 'baobox-test'
const KEYS = { accessKeyId: 'baobox-key', secretAccessKey: 'baobox-secret' }

/**
 * @typedef {object} Engine
 * @property {string} version
 * @property {string} needs  the command that installs it
 * @property {boolean} isSafe  false if it breaks the promises on which several writers rely
 * @property {(folder: string) => string} program  in its folder of the cache
 * @property {(folder: string, version: string) => [command: string, args: string[], options?: object][]} install
 * @property {(data: string, ports: number[]) => { args: string[], env?: object }[]} processes  how it is started; each
 *   listens for S3 at the port of its number
 * @property {number} ports  how many it needs
 * @property {number} endpoints  how many of them are endpoints
 * @property {typeof KEYS} [keys]
 */

/** @type {Record<string, Engine>} */
export const ENGINES = {
  // Two gateways over one directory.
  versitygw: {
    version: '1.8.0',
    needs: 'go',
    isSafe: true,
    program: folder => join(folder, 'versitygw'),
    install: (folder, version) => [
      ['go', ['install', `github.com/versity/versitygw/cmd/versitygw@v${version}`], { GOBIN: folder }]
    ],
    processes: (data, ports) => ports.map(port => ({
      args: ['--port', `127.0.0.1:${port}`, '--keep-alive', '--quiet', '--region', REGION, 'posix', data],
      env: {
        ROOT_ACCESS_KEY: KEYS.accessKeyId,
        ROOT_SECRET_KEY: KEYS.secretAccessKey,
        VGW_CORS_ALLOW_ORIGIN: '*' // for pages
      }
    })),
    ports: 2,
    endpoints: 2
  },
  seaweedfs: {
    version: '0.0.0-20261109003541-7506e5f91cd6',
    needs: 'go',
    isSafe: true,
    program: folder => join(folder, 'weed'),
    // Its go.mod replaces a module, so `go install` refuses it: it is built where Go has unpacked it.
    install: (folder, version) => [
      ['go', ['build', '-o', join(folder, 'weed'), './weed'],
        { CGO_ENABLED: '0' }, () => sourceOf(`github.com/seaweedfs/seaweedfs@v${version}`)]
    ],
    processes (data, [port, master, volume, filer]) {
      const config = join(data, 's3.json')
      const credentials = [{ accessKey: KEYS.accessKeyId, secretKey: KEYS.secretAccessKey }]
      writeFileSync(config, JSON.stringify({ identities: [{ name: 'baobox', credentials, actions: ['Admin'] }] }))
      return [{
        args: ['server', `-dir=${data}`, '-ip=127.0.0.1', '-ip.bind=127.0.0.1', `-master.port=${master}`,
          `-volume.port=${volume}`, '-filer', `-filer.port=${filer}`, '-s3', `-s3.port=${port}`, `-s3.config=${config}`,
          '-master.volumeSizeLimitMB=64']
      }]
    },
    ports: 4,
    endpoints: 1
  },
  // Ignores conditions.
  s3rver: {
    version: '3.7.1',
    needs: 'npm',
    isSafe: false,
    program: folder => join(folder, 'node_modules/.bin/s3rver'),
    install: (folder, version) => [
      ['npm', ['install', '--prefix', folder, '--no-audit', '--no-fund', '--ignore-scripts', `s3rver@${version}`]]
    ],
    processes: (data, [port]) => [{
      args: ['--directory', data, '--address', '127.0.0.1', '--port', String(port), '--silent',
        '--configure-bucket', BUCKET]
    }],
    ports: 1,
    endpoints: 1,
    keys: { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' }
  },
  // This version ignores conditions. Version 5.2.1 checks them, but not in one step with the write.
  moto: {
    version: '4.2.14',
    needs: 'python3',
    isSafe: false,
    program: folder => join(folder, 'bin/moto_server'),
    install: (folder, version) => [
      ['python3', ['-m', 'venv', folder]],
      [join(folder, 'bin/pip'), ['install', '--quiet', `moto[server,s3]==${version}`]]
    ],
    processes: (_data, [port]) => [{ args: ['-H', '127.0.0.1', '-p', String(port)] }],
    ports: 1,
    endpoints: 1
  }
}

/** @param {string} name */
const folderOf = name => join(CACHE, `${name}-${ENGINES[name].version}`)

/**
 * Finds an engine, or installs it.
 *
 * @param {string} name @param {{ install?: boolean }} options
 * @throws {Error} with the reason why it cannot be had
 */
export function have (name, { install = false }) {
  const engine = ENGINES[name]
  const folder = folderOf(name)
  if (existsSync(engine.program(folder))) return
  if (!install) throw new Error('it is not installed; --install does that')
  if (spawnSync(engine.needs, [engine.needs === 'go' ? 'version' : '--version']).status !== 0) {
    throw new Error(`${engine.needs} is not installed`)
  }
  console.log(`installing ${name} ${engine.version}`)
  mkdirSync(folder, { recursive: true })
  for (const [command, args, env, cwd] of engine.install(folder, engine.version)) {
    const options = { env: { ...process.env, ...env }, cwd: cwd?.(), timeout: LONGEST, encoding: 'utf8' }
    const { status, stderr, error } = spawnSync(command, args, options)
    const why = () => error?.message ?? stderr.trim().split('\n').at(-1)
    if (status !== 0) throw new Error(`${command} ${args[0]} failed: ${why()}`)
  }
}

/** Where Go has unpacked a module. @param {string} module */
function sourceOf (module) {
  const options = { encoding: /** @type {const} */ ('utf8'), timeout: LONGEST }
  const { status, stdout } = spawnSync('go', ['mod', 'download', '-json', module], options)
  if (status !== 0) throw new Error(`go mod download of ${module} failed`)
  return JSON.parse(stdout).Dir
}

/**
 * Starts an engine, with an empty bucket.
 *
 * @param {string} name
 * @returns {Promise<{ options: object[], stop: () => Promise<void> }>} `options`: those of `s3` for each endpoint
 */
export async function start (name) {
  const { program, processes, ports: count, endpoints, keys = KEYS } = ENGINES[name]
  const data = await mkdtemp(join(tmpdir(), `baobox-${name}-`))
  const ports = await freePorts(count)
  const children = processes(data, ports).map(({ args, env }) => {
    const stdio = /** @type {const} */ (['ignore', 'pipe', 'pipe'])
    const child = spawn(program(folderOf(name)), args, { env: { ...process.env, ...env }, stdio })
    for (const stream of [child.stdout, child.stderr]) stream.on('data', text => { child.last = String(text) })
    return child
  })
  const options = ports.slice(0, endpoints).map(port => ({
    endpoint: `http://127.0.0.1:${port}`, region: REGION, bucket: BUCKET, ...keys
  }))
  const stop = async () => {
    await Promise.all(children.map(child => new Promise(resolve => {
      if (child.exitCode !== null || child.signalCode !== null) return resolve()
      child.once('exit', resolve)
      child.kill('SIGKILL')
    })))
    await rm(data, { recursive: true, force: true, maxRetries: 5 })
  }
  try {
    for (const { endpoint } of options) await createBucket(endpoint, keys, children)
  } catch (error) {
    await stop()
    throw error
  }
  return { options, stop }
}

/** Creates the bucket as soon as the engine answers. @param {string} endpoint @param {typeof KEYS} keys */
async function createBucket (endpoint, keys, children) {
  const client = new AwsClient({ ...keys, service: 's3', region: REGION, retries: 0 })
  let last
  for (const until = Date.now() + START_MS; Date.now() < until;) {
    const ended = children.find(({ exitCode }) => exitCode !== null)
    if (ended !== undefined) throw new Error(`it ended with ${ended.exitCode}: ${ended.last}`)
    try {
      const { status } = await client.fetch(`${endpoint}/${BUCKET}`, { method: 'PUT' })
      if (status === 200 || status === 409) return
      last = `status ${status}`
    } catch (error) {
      last = error.cause?.code ?? error.message
    }
    await new Promise(resolve => setTimeout(resolve, 200))
  }
  throw new Error(`it does not create a bucket: ${last}`)
}

/** Ports that are free now. @param {number} count @returns {Promise<number[]>} */
async function freePorts (count) {
  const servers = await Promise.all(Array.from({ length: count }, () => new Promise((resolve, reject) => {
    const server = createServer().once('error', reject).listen(0, '127.0.0.1', () => resolve(server))
  })))
  const ports = servers.map(server => server.address().port)
  await Promise.all(servers.map(server => new Promise(resolve => server.close(resolve))))
  return ports
}

/** The names of the engines that the suites run with, from the environment. */
export const chosen = () => (process.env.ENGINES ?? '').split(',').filter(name => name !== '')
