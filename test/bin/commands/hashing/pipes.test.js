// Named pipes as inputs: one that nobody writes to, and one whose writer stalls.
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { open } from 'node:fs/promises'
import { constants } from 'node:os'
import { expect } from 'chai'
import { newFolder } from '../../../support/program.js'

describe('a named pipe', () => {
  const folder = newFolder()
  before(async function () {
    if (process.platform === 'win32') this.skip()
    await folder.write('a', 'abc')
    execFileSync('mkfifo', [folder.at('pipe')])
  })

  /** The status that a shell shows for the end of a process. */
  const statusOf = async child => {
    const overdue = setTimeout(() => child.kill('SIGKILL'), 20_000)
    const [code, signal] = await once(child, 'exit')
    clearTimeout(overdue)
    return code ?? 128 + constants.signals[signal]
  }

  for (const [signal, status] of [['SIGINT', 130], ['SIGTERM', 143]]) {
    for (const args of [['hash', 'a', 'pipe'], ['cid', 'a', 'pipe'], ['hash', '-l5', 'a', 'pipe']]) {
      it(`that nobody writes to does not keep 'baobox ${args.join(' ')}' after ${signal}`, async () => {
        const child = folder.start(args)
        await once(child.stdout, 'data') // the line for `a`: the pipe is next
        child.kill(signal)
        expect(await statusOf(child)).to.equal(status)
      })
    }

    it(`that stalls does not keep the program after ${signal}, once or twice`, async () => {
      for (const times of [1, 2]) {
        const child = folder.start(['hash', 'pipe'])
        const writer = await open(folder.at('pipe'), 'w') // waits until the program has opened the pipe
        await writer.write('abc')
        for (let i = 0; i < times; i++) child.kill(signal)
        expect(await statusOf(child)).to.equal(status)
        await writer.close()
      }
    })
  }
})
