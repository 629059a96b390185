// Many processes over one bucket, each behind a proxy that loses, delays and changes requests and answers, and killed
// at random requests: nothing that is tagged is lost, no byte is wrong, and garbage is gone in the end.
//
// `DURATION=600 npm run test:bucket -- --engine versitygw` runs it for ten minutes. `SEED` chooses other numbers.
import { fork } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { MemoryLevel } from 'memory-level'
import { BucketStore } from '../../../exchange/bucket/index.js'
import { openS3 } from '../../../exchange/bucket/s3.js'
import { hash, toCid } from '../../../lib/index.js'
import { concat } from '../../../lib/core/bytes.js'
import { Random } from '../../fuzz/random.js'
import { hex, same } from '../../support/bytes.js'
import { collectAll } from '../../support/bucket/stores.js'
import { ENGINES, chosen, start } from '../engines.js'
import { FaultProxy } from '../fault-proxy.js'
import { CONTENTS, MEMBERS, contentOf } from './content.js'
import { Ledger } from '../../support/bucket/ledger.js'

const WORKER = fileURLToPath(new URL('worker.js', import.meta.url))
const DURATION = Number(process.env.DURATION ?? 30)
const SEED = Number(process.env.SEED ?? 1)
/** After so many milliseconds all processes rest, and everything is checked. */
const ROUND_MS = 90_000
const FAULTS = ['refuse', 'lose', 'lose', 'late', 'late', '500', '502', '503', 'cut']
/** Of a thousand requests, how many meet a fault, and how many kill their process. */
const FAULTY = 40
const DEADLY = 5
const MAX_LATE_MS = 5000
const OWN_NAMES = 3
const SHARED_NAMES = 4
/** What calls may throw when requests fail, or others delete. */
const EXPECTED = ['BUCKET_UNKNOWN', 'BUCKET_FAILED', 'STORE_CONDEMNED', 'STORE_TAGGED', 'STORE_NOT_FOUND',
  'FETCH_EXHAUSTED', 'STORE_MISSING']
const ROLES = ['writer', 'writer', 'writer', 'writer', 'collector', 'collector', 'deleter']

const random = new Random(SEED)
const pick = list => list[random.below(list.length)]
const chance = perMille => random.below(1000) < perMille
const sequenceOf = members => concat(members.map(number => hash(contentOf(number))))
const hexOf = bytes => hex(hash(bytes))

for (const name of chosen().filter(name => ENGINES[name].isSafe)) {
  describe(`${name}: many processes that are killed, and requests that fail`, function () {
    this.timeout(DURATION * 3000 + 300_000)
    let engine, folder
    before(async () => {
      engine = await start(name)
      folder = await mkdtemp(join(tmpdir(), 'baobox-stress-'))
    })
    after(async () => {
      await engine?.stop()
      if (folder) await rm(folder, { recursive: true, force: true, maxRetries: 5 })
    })

    it(`lose nothing that is tagged, for ${DURATION} s`, async () => {
      const counts = new Map()
      const until = performance.now() + DURATION * 1000
      for (let number = 1; number === 1 || performance.now() < until; number++) {
        const round = new Round({ engine, folder, number, counts })
        await round.run(Math.min(ROUND_MS, until - performance.now()))
        const total = [...counts].sort().map(([key, count]) => `${key} ${count}`).join(', ')
        console.log(`      round ${number}: ${total}`)
      }
    })
  })
}

/** One bucket, used until all processes rest. */
class Round {
  #ledger = new Ledger()
  #failures = /** @type {string[]} */ ([])
  #isEnding = false
  #direct
  #counts
  #processes

  constructor ({ engine, folder, number, counts }) {
    const prefix = `stress-${number}`
    this.#counts = counts
    this.#direct = openS3({ ...engine.options[0], prefix })
    this.#processes = ROLES.map((role, i) => new Process({
      role,
      options: { ...engine.options[i % engine.options.length], prefix, retries: 6 },
      local: join(folder, `${number}-${i}`),
      count: key => this.#count(key)
    }))
  }

  #count (key) { this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1) }

  async run (ms) {
    await Promise.all(this.#processes.map(process => process.start()))
    const timer = setTimeout(() => { this.#isEnding = true }, ms)
    try {
      await Promise.all([this.#watch(), ...this.#processes.flatMap((process, i) => {
        const parallel = { writer: 3, collector: 1, deleter: 2 }[process.role]
        return Array.from({ length: parallel }, (_, j) => this.#use(process, i * 10 + j))
      })])
    } finally {
      clearTimeout(timer)
      this.#isEnding = true
      await Promise.all(this.#processes.map(process => process.stop()))
    }
    await this.#check()
    if (this.#failures.length > 0) throw new Error(this.#failures.join('\n'))
  }

  /** Asks a process for one call after the other. @param {Process} process @param {number} task */
  async #use (process, task) {
    while (!this.#isEnding) {
      const { call, args, name, value } = this.#next(process, task)
      if (name !== undefined && !name.startsWith('shared') && this.#ledger.isUnderWay(name)) {
        await new Promise(resolve => setTimeout(resolve, 10))
        continue
      }
      const change = name === undefined ? undefined : this.#ledger.begin(name, value, call)
      const { result, error, isKilled } = await process.ask(call, args)
      this.#count(`${call} ${isKilled ? 'killed' : error?.code ?? (error ? 'error' : 'done')}`)
      if (change !== undefined) {
        if (isKilled || error !== undefined) this.#ledger.giveUp(change)
        else this.#ledger.acknowledge(change, { isPromised: result?.isThere ?? true })
      }
      if (error !== undefined && !EXPECTED.includes(error.code)) {
        this.#failures.push(`${call} ${JSON.stringify(args)}: ${error.stack}`)
        this.#isEnding = true
      }
    }
  }

  /** @param {Process} process @param {number} task */
  #next ({ role }, task) {
    const content = random.below(CONTENTS)
    if (role === 'collector') return { call: 'gc', args: {} }
    const shared = `shared-${random.below(SHARED_NAMES)}`
    if (role === 'deleter') {
      // A member of a sequence may be deleted, so only other blobs are.
      if (chance(700)) return { call: 'delete', args: { content: MEMBERS + random.below(CONTENTS - MEMBERS) } }
      return { call: 'untag', args: { name: shared }, name: shared, value: undefined }
    }
    const name = chance(300) ? shared : `own-${task}-${random.below(OWN_NAMES)}`
    const call = pick(['put', 'put', 'putThenTag', 'tag', 'tag', 'putSequence', 'putSequence', 'untag', 'read'])
    if (call === 'read') return { call, args: { content } }
    if (call === 'untag') return { call, args: { name }, name, value: undefined }
    if (call === 'putSequence') {
      const members = Array.from({ length: 1 + random.below(5) }, () => random.below(MEMBERS))
      return { call, args: { name, members }, name, value: hexOf(sequenceOf(members)) }
    }
    return { call, args: { name, content }, name, value: hexOf(contentOf(content)) }
  }

  /** While the others work: tags that nobody changes are what they should be. */
  async #watch () {
    while (!this.#isEnding) {
      await new Promise(resolve => setTimeout(resolve, 200))
      const quiet = this.#ledger.names.filter(name => !name.startsWith('shared') && !this.#ledger.isUnderWay(name))
      if (quiet.length === 0) continue
      const name = pick(quiet)
      const before = this.#ledger.countOf(name)
      const looks = chance(500) // Half of the readers have seen what is condemned.
      const fault = await this.#withStore(async store => {
        if (looks) await store.gc({ dryRun: true })
        return this.#faultOf(store, name)
      })
      if (this.#ledger.countOf(name) !== before) continue
      this.#count('looked at a tag')
      if (fault !== undefined) {
        this.#failures.push(`while others work: ${fault}`)
        this.#isEnding = true
      }
    }
  }

  /** When nobody works: everything is what it should be, and garbage can be deleted. */
  async #check () {
    await this.#withStore(async store => {
      await this.#checkTags(store, 'at the end')
      if (this.#failures.length > 0) return
      await store.gc()
      await store.gc()
      await this.#checkTags(store, 'after the garbage has gone')
      const { isSound, damaged, tags } = await store.fsck()
      if (!isSound) this.#failures.push(`damaged: ${JSON.stringify({ damaged, tags })}`)
      for (const tag of this.#ledger.names) await store.tags.delete(tag)
      await collectAll(store, this.#direct)
      for await (const { key } of this.#direct.list('blobs/')) this.#failures.push(`garbage stays: ${key}`)
      this.#count('round checked')
    })
  }

  async #checkTags (store, when) {
    for (const name of this.#ledger.names) {
      const fault = await this.#faultOf(store, name)
      this.#count('checked a tag')
      if (fault !== undefined) this.#failures.push(`${when}: ${fault}`)
    }
  }

  async #faultOf (store, name) {
    const tag = await store.tags.get(name)
    const isReadable = tag === undefined || await isWhole(store, tag)
    return this.#ledger.faultOf(name, tag && hex(tag.cid.multihash.digest), isReadable)
  }

  /** Opens a store that has nothing in its local store, without faults. */
  async #withStore (work) {
    const local = { index: new MemoryLevel(), data: new MemoryLevel() }
    const store = await BucketStore.open(this.#direct, { local, untaggedTtl: 0 })
    try {
      return await work(store)
    } finally {
      await store.close()
    }
  }
}

async function membersOf (store, cid) {
  const bytes = await store.bytes(cid)
  return Array.from({ length: bytes.length / 32 }, (_, i) => toCid(bytes.slice(32 * i, 32 * i + 32)))
}

/** True if all bytes of what a tag names can be read. */
async function isWhole (store, { cid, format }) {
  try {
    const cids = format === 'hashseq' ? [cid, ...await membersOf(store, cid)] : [cid]
    for (const one of cids) {
      const bytes = await store.bytes(one)
      if (!same(hash(bytes), one.multihash.digest)) throw new Error(`wrong bytes of ${one}`)
    }
    return true
  } catch (error) {
    if (['STORE_NOT_FOUND', 'STORE_MISSING'].includes(error.code)) return false
    throw error
  }
}

/** A process with a store, behind a proxy of its own. It is killed at random requests, and started again. */
class Process {
  role
  #options
  #local
  #count
  #proxy
  #child
  #waiting = new Map()
  #ids = 0
  #isStopping = false

  constructor ({ role, options, local, count }) {
    this.role = role
    this.#options = options
    this.#local = local
    this.#count = count
    this.#proxy = new FaultProxy(options.endpoint)
  }

  async start () {
    this.#options.endpoint = await this.#proxy.listen()
    await this.#spawn()
    this.#proxy.faultFor = () => this.#fault()
  }

  #fault () {
    this.#count('requests')
    if (this.#isStopping) return undefined
    if (chance(DEADLY)) {
      this.#count('kills')
      this.#child.kill('SIGKILL')
      return pick(['refuse', 'lose', 'late'])
    }
    if (!chance(FAULTY)) return undefined
    this.#proxy.lateMs = random.below(MAX_LATE_MS)
    const fault = pick(FAULTS)
    this.#count(`fault ${fault}`)
    return fault
  }

  async #spawn () {
    const args = [JSON.stringify({ options: this.#options, local: this.#local })]
    const child = fork(WORKER, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    this.#child = child
    const isReady = await new Promise((resolve, reject) => {
      child.once('message', () => resolve(true))
      child.once('exit', (code, signal) => signal === 'SIGKILL'
        ? resolve(false)
        : reject(new Error(`a process ended with ${code} before it was ready`)))
    })
    if (!isReady) return this.#spawn() // It was killed at a request that its predecessor had sent.
    child.on('message', ({ id, ...outcome }) => {
      this.#waiting.get(id)?.(outcome)
      this.#waiting.delete(id)
    })
    child.once('exit', () => {
      for (const resolve of this.#waiting.values()) resolve({ isKilled: true })
      this.#waiting.clear()
      this.#ready = this.#isStopping ? Promise.resolve() : this.#spawn()
    })
  }

  #ready = Promise.resolve()

  async ask (call, args) {
    await this.#ready
    const id = ++this.#ids
    return new Promise(resolve => {
      this.#waiting.set(id, resolve)
      if (this.#child.connected) this.#child.send({ id, call, args }, error => { if (error) this.#lost(id) })
      else this.#lost(id)
    })
  }

  #lost (id) {
    this.#waiting.get(id)?.({ isKilled: true })
    this.#waiting.delete(id)
  }

  async stop () {
    this.#isStopping = true
    await this.#ready
    if (this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null) {
      const ended = new Promise(resolve => this.#child.once('exit', resolve))
      this.#child.kill('SIGKILL')
      await ended
    }
    await this.#proxy.close()
  }
}
