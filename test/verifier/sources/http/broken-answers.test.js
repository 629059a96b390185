// Mirrors that break the rules of HTTP. None of their answers may end the process of a caller, so each call runs in a
// process of its own.
import { execFile } from 'node:child_process'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'

const PROGRAM = fileURLToPath(new URL('../../../support/broken-answers.js', import.meta.url))

/** What comes of each answer to a call, in a process that must not crash. */
async function outcomesOf (way) {
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, way]) // rejects when it crashes
  const outcomes = stdout.trim().split('\n').map(line => JSON.parse(line))
  expect(outcomes).to.have.length(16)
  return outcomes
}

describe('a mirror that breaks the rules of HTTP fails, and the process goes on', () => {
  for (const way of ['fetchVerified', 'httpSource', 'download', 'downloadFile', 'fromMirrors', 'a duplicate']) {
    it(`when it is asked by ${way}`, async () => {
      for (const { answer, outcome } of await outcomesOf(way)) {
        expect(outcome, answer).to.match(/^(FETCH_|BAO_|TimeoutError$)/)
      }
    })
  }

  it('when push sends a blob to it', async () => {
    for (const { answer, outcome } of await outcomesOf('push')) {
      expect(`${outcome}`, answer).to.match(/^(FETCH_\w+|TimeoutError|undefined)$/) // it may say that it has the blob
    }
  })
})
