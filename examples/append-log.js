// Keeps the hash tree of a log file up to date. Only the appended bytes are hashed, however long the log is.
//
//   node append-log.js LOG        run it after the log has grown

import { readFile, writeFile } from 'node:fs/promises'
import { writeOutboard } from 'baobox/encoder'

const [log = import.meta.filename] = process.argv.slice(2)
const outboard = `${log}.obao`
const note = `${log}.json`     // the facts that an outboard does not contain: its name, size and order

const append = await readFile(note, 'utf8').then(JSON.parse, () => undefined)
const info = await writeOutboard(log, outboard, append === undefined ? { order: 'post' } : { append })
const { size, groupLog, order, header } = info
const cid = `${info.cid}`
await writeFile(note, JSON.stringify({ cid, size, groupLog, order, header }))

console.log(`${size} bytes, ${append === undefined ? 'all' : size - append.size} of them new: ${cid}`)
