// Mirrors that break the rules of HTTP. None of their answers may end the process of a caller, so each call runs in a
// process of its own.
import { execFile } from 'node:child_process'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'

const PROGRAM = fileURLToPath(new URL('../../../support/broken-answers.js', import.meta.url))

describe('a mirror that breaks the rules of HTTP fails, and the process goes on', () => {
  for (const way of ['fetchVerified', 'httpSource', 'download', 'downloadFile', 'fromMirrors', 'a duplicate']) {
    it(`when it is asked by ${way}`, async () => {
      const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, way]) // rejects when it crashes
      const outcomes = stdout.trim().split('\n').map(line => JSON.parse(line))
      expect(outcomes).to.have.length(15)
      for (const { answer, outcome } of outcomes) expect(outcome, answer).to.match(/^(FETCH_|BAO_|TimeoutError$)/)
    })
  }
})
