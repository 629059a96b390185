// Compares a kernel that takes pointers to chunks that are not adjacent with one for which they are copied together.
//
// In an encoding of group log 0 a pair may come before every second chunk. A kernel that takes a table of pointers
// hashes them in place; one that takes adjacent chunks needs a copy. `side by side already` is the limit for
// both.

import assert from 'node:assert/strict'
import { CHUNK_LEN, HASH_LEN, PAIR_LEN } from '../../lib/core/constants.js'
import { randomBytes } from '../support/inputs.js'
import { run } from '../support/run.js'
import { compile, compressMany } from './kernel.js'
import { layOut } from './tree.js'

const CHUNKS = 128
const STRIDE = 2 * CHUNK_LEN + PAIR_LEN

// A window of twice the chunks has room for the encoding and for the chunks brought together.
const { memory, SCRATCH, CHUNK_TABLE, PAIR_TABLE: TABLE, CVS, INPUT } = layOut(2 * CHUNKS + 16)
const TOGETHER = INPUT + CHUNKS / 2 * STRIDE
const { exports } = compile(memory, [compressMany(SCRATCH)])
const u8 = new Uint8Array(memory.buffer)
const u32 = new Uint32Array(memory.buffer)

u8.set(randomBytes(CHUNKS / 2 * STRIDE), INPUT)
/** The place of chunk `i` in the encoding: after the pair of its parent. @param {number} i */
const placeOf = i => INPUT + (i >> 1) * STRIDE + PAIR_LEN + (i & 1) * CHUNK_LEN

const contestants = {
  'pointed at': () => {
    for (let i = 0; i < CHUNKS; i++) u32[TABLE / 4 + i] = placeOf(i)
    exports.compressMany(TABLE, CHUNKS, 0, 0, CVS)
  },
  'brought together first': () => {
    for (let i = 0; i < CHUNKS; i++) u8.copyWithin(TOGETHER + i * CHUNK_LEN, placeOf(i), placeOf(i) + CHUNK_LEN)
    hashTogether()
  },
  'side by side already': hashTogether
}

function hashTogether () {
  exports.compressMany(CHUNK_TABLE, CHUNKS, 0, 0, CVS)
}

for (let i = 0; i < CHUNKS; i++) u32[CHUNK_TABLE / 4 + i] = TOGETHER + i * CHUNK_LEN
contestants['brought together first']()
const cvs = u8.slice(CVS, CVS + CHUNKS * HASH_LEN)
u8.fill(0, CVS, CVS + CHUNKS * HASH_LEN)
contestants['pointed at']()
assert.deepEqual(u8.slice(CVS, CVS + CHUNKS * HASH_LEN), cvs, 'both ways must lead to the same chaining values')

const cases = [{ name: 'group log 0', bytes: CHUNKS * CHUNK_LEN, contestants }]
await run('micro/pointers', `${CHUNKS} chunks out of an encoding`, cases, { form: 'ranking' })
