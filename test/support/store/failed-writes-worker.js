// A process whose files may not grow for a while: the system then writes only a part of LevelDB's next log entry.
import { execFileSync } from 'node:child_process'
import { BlobStore } from '../../../store/index.js'
import { noise } from '../inputs.js'

/** @param {string} len  bytes, or `unlimited` */
const limitFiles = len => execFileSync('prlimit', ['--pid', String(process.pid), `--fsize=${len}:`])

const store = await BlobStore.open(process.argv[2])
const { cid } = await store.put(noise(1000, 1))
const kept = []
const refused = new Set()
const setTags = async (prefix, count) => {
  for (let i = 0; i < count; i++) {
    const name = `${prefix} ${i} ${'x'.repeat(2000)}`
    await store.tags.set(name, cid).then(() => kept.push(name), error => refused.add(error.code))
  }
}
limitFiles('30000')
await setTags('before', 20)
limitFiles('unlimited')
for (let i = 0; i < 40; i++) await store.put(noise(3000 + i, i))
await setTags('after', 20)
process.send({ refused: [...refused], kept }, () => process.exit())
