import { readdir } from 'node:fs/promises'
import { expect } from 'chai'
import { newFolder } from '../../support/program.js'

/** Each measurement in memory takes 1.5 s by the clock of the process. */
const FAST_CLOCK = new URL('../../support/fast-clock.js', import.meta.url)

describe('baobox bench', () => {
  const folder = newFolder()

  it('prints a figure for each measurement, and leaves no files', async () => {
    const env = { NODE_OPTIONS: `--import=${FAST_CLOCK}` }
    const { code, out, err } = await folder.run(['bench', '--json'], { env })
    expect({ code, err }).to.deep.equal({ code: 0, err: '' })
    const lines = out.trim().split('\n').map(line => JSON.parse(line))
    expect(lines).to.have.length(9)
    for (const { name, megabytesPerSecond } of lines) expect(megabytesPerSecond, name).to.be.above(0)
    expect(await readdir(folder.path)).to.deep.equal([])
  })
})
