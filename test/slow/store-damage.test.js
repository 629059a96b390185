// Damages files of LevelDB: flips bits, cuts files short, removes them. No read may give a wrong byte, no process may
// end, the damage must be found, and after a repair the lost data can be received again.
//
// A seed decides what is damaged, where and how: `SEED=7 TRIALS=1500 npm run test:slow -- -g ways`. `SEED=7 ONLY=12`
// repeats only trial 12 of that seed.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, readFile, readdir, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { Random } from '../fuzz/random.js'
import { atEffort } from '../support/effort.js'
import { fill } from './damage-worker.js'

const WORKER = fileURLToPath(new URL('damage-worker.js', import.meta.url))
const { TRIALS = atEffort(100), SEED = 1, ONLY } = process.env
const trials = ONLY === undefined ? Array.from({ length: Number(TRIALS) }, (_, i) => i) : [Number(ONLY)]

const PARTS = ['data', 'index']

/** @type {Record<string, (random: Random, path: string, len: number) => Promise<void>>} */
const DAMAGES = {
  async 'a flipped bit' (random, path, len) {
    const bytes = await readFile(path)
    bytes[random.below(len)] ^= 1 << random.below(8)
    await writeFile(path, bytes)
  },
  // LevelDB keeps its index of keys there.
  async 'a flipped bit near the end' (random, path, len) {
    const bytes = await readFile(path)
    bytes[len - 1 - random.below(Math.min(len, 2000))] ^= 1 << random.below(8)
    await writeFile(path, bytes)
  },
  async 'a sector of zeros' (random, path, len) {
    const bytes = await readFile(path)
    const at = random.below(len) & ~511
    bytes.fill(0, at, Math.min(at + 512, len))
    await writeFile(path, bytes)
  },
  'a file that is cut short': (random, path, len) => truncate(path, random.below(len)),
  'a missing file': (_random, path) => rm(path)
}

/** True if a power cut during writes can leave the same damage. */
const mayBeTorn = (how, name) =>
  name.endsWith('.log') && ['a sector of zeros', 'a file that is cut short'].includes(how)

/** @returns {Promise<{ end: string, line?: any }>} */
async function look (location) {
  const child = spawn(process.execPath, [WORKER, location], { stdio: ['ignore', 'pipe', 'pipe'] })
  let out = ''
  let noise = ''
  child.stdout.on('data', data => { out += data })
  child.stderr.on('data', data => { noise += data })
  const timer = setTimeout(() => child.kill('SIGKILL'), 120_000)
  const [code, signal] = await once(child, 'close')
  clearTimeout(timer)
  if (signal === 'SIGABRT') return { end: `LevelDB ended the process: ${noise.slice(0, 2000)}` }
  if (code !== 0) return { end: `failed: ${signal ?? code} ${noise.slice(0, 2000)}` }
  return { end: 'looked', line: JSON.parse(out) }
}

describe('store: damaged files of LevelDB', () => {
  let folder
  before(async function () {
    folder = await mkdtemp(join(tmpdir(), 'baobox-'))
    await fill(join(folder, 'sound'))
  })
  after(() => rm(folder, { recursive: true }))

  it(`in ${trials.length} ways (seed ${SEED}), never give a wrong byte and can be repaired`, async function () {
    this.timeout(Math.max(1_800_000, trials.length * 10_000))
    const counts = {}
    const count = (...names) => { for (const name of names) counts[name] = (counts[name] ?? 0) + 1 }
    for (const trial of trials) {
      const random = new Random(Math.imul(Number(SEED), 0x2545f491) + trial)
      const location = join(folder, 'spoilt')
      await cp(join(folder, 'sound'), location, { recursive: true })
      const part = PARTS[trial % PARTS.length]
      const files = []
      for (const name of (await readdir(join(location, part))).sort()) {
        const { size } = await stat(join(location, part, name))
        if (/\.(ldb|log)$|^MANIFEST|^CURRENT|^\d+$/.test(name) && size > 0) files.push({ name, size })
      }
      const { name, size } = random.pick(files)
      const [how, damage] = Object.entries(DAMAGES)[Math.floor(trial / PARTS.length) % Object.keys(DAMAGES).length]
      await damage(random, join(location, part, name), size)
      // Half of the stores look as if their processes had been killed.
      const isClosed = random.chance(0.5)
      if (!isClosed) await rm(join(location, 'seal'))

      const { end, line } = await look(location)
      const what = `trial ${trial} of the seed ${SEED}, ${how} in ${part}/${name}: ${end} ${JSON.stringify(line)}`
      expect(end, what).to.equal('looked')
      count(how)
      expect([...line.reads, ...line.rereads], what).to.not.include('WRONG')
      for (const code of [...line.reads, ...line.rereads]) {
        expect(code, what).to.match(/^all$|^STORE_(CORRUPT|MISSING|NOT_FOUND)$|^LEVEL_IO_ERROR$/)
      }
      // Either the opening or fsck finds the damage, or a read has noted it, or a power cut may have made it.
      const isSilent = !isClosed && mayBeTorn(how, name)
      const allowed = isSilent ? ['all', 'STORE_NOT_FOUND', 'STORE_MISSING'] : ['all']
      const harm = line.reads.filter((code, i) => !allowed.includes(code) && !line.missed[i])
      if (line.found && line.steps.length === 0) expect(harm, what).to.deep.equal([])
      expect(line.again, `after a repair, ${what}`).to.equal(true)
      expect(line.rereads.filter(code => code === 'STORE_CORRUPT'), what).to.deep.equal([])
      expect(line.refetched.every(Boolean), what).to.equal(true)
      expect(line.isSound, what).to.equal(true)
      count(line.found ? 'nothing was found' : 'found', ...line.isRescued ? ['rescued'] : [], ...line.steps)
      for (const code of new Set(line.reads)) count(`read: ${code}`)
      if (line.reads.every(code => code === 'all')) count('no read was harmed')
      await rm(location, { recursive: true })
    }
    for (const [name, times] of Object.entries(counts).sort()) console.log(`      ${name}: ${times}`)
  })
})
