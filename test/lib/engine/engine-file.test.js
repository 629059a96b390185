// Tests that the compiled engine for Workers is what the assembler gives.
// `UPDATE_ENGINE=1 npx mocha --no-config test/lib/engine/engine-file.test.js` writes the file.
import { env } from 'node:process'
import { readFileSync, writeFileSync } from 'node:fs'
import { expect } from 'chai'
import { equals } from 'uint8arrays/equals'
import { assembleKernel } from '../../../lib/engine/kernel/simd.js'

const FILE = new URL('../../../lib/engine/kernel/engine.wasm', import.meta.url)

describe('engine.wasm', () => {
  it('has the bytes that the assembler gives', () => {
    const bytes = assembleKernel()
    if (env.UPDATE_ENGINE) writeFileSync(FILE, bytes)
    else expect(equals(bytes, readFileSync(FILE)), 'UPDATE_ENGINE=1 writes it').to.equal(true)
  })
})
