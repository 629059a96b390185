import { once } from 'node:events'
import { spawn } from 'node:child_process'
import { expect } from 'chai'
import { newFolder } from '../../support/program.js'

const OUTPUT = new URL('../../../bin/terminal/output.js', import.meta.url)

describe('stdout', () => {
  const folder = newFolder()

  it('is not waited for after an interrupt, also by work that prints only then', async function () {
    if (process.platform === 'win32') this.skip() // on Windows, a write to a pipe waits for the reader
    const piece = 'Buffer.alloc(5_000_000)'
    await folder.write('prints.mjs', `
      import { print, stopPrinting } from '${OUTPUT}'
      const ends = [print(${piece})]
      stopPrinting('stopped')
      ends.push(print(${piece}), print(${piece}))
      const results = await Promise.allSettled(ends)
      process.exit(results.every(({ reason }) => reason === 'stopped') ? 0 : 1)`)
    // Nobody reads its output.
    const child = spawn(process.execPath, [folder.at('prints.mjs')], { stdio: ['ignore', 'pipe', 'inherit'] })
    const overdue = setTimeout(() => child.kill('SIGKILL'), 20_000)
    expect(await once(child, 'exit')).to.deep.equal([0, null])
    clearTimeout(overdue)
  })
})
