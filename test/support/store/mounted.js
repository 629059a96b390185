// Opens a store by two paths to the same folder, in one thread and in several, and prints the results.
import process from 'node:process'
import { BlobStore } from '../../../store/index.js'
import { StoreThread } from './thread.js'

const ROUNDS = 5

const [, , first, second] = process.argv
const outcome = ({ code, pid }) => ({ code, pid })
const threads = [new StoreThread(), new StoreThread()]

const store = await BlobStore.open(first)
const here = await BlobStore.open(second).then(() => ({}), outcome)
const inThread = await threads[0].ask({ open: second })
await store.close()

const atOnce = []
for (let round = 0; round < ROUNDS; round++) {
  const answers = await Promise.all([first, second].map((path, i) => threads[i].ask({ open: path })))
  atOnce.push(answers.map(answer => answer.code ?? answer))
  for (const [i, answer] of answers.entries()) if (answer === 'done') await threads[i].ask('close')
}
for (const thread of threads) await thread.end()
process.stdout.write(JSON.stringify({ pid: process.pid, here, inThread, atOnce }))
