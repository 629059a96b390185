import { readdir } from 'node:fs/promises'
import { expect } from 'chai'
import { newFolder } from '../../support/program.js'

describe('baobox bench', () => {
  const folder = newFolder()

  it('prints a figure for each measurement, and leaves no files behind', async () => {
    const { code, out, err } = await folder.run(['bench', '--json'])
    expect({ code, err }).to.deep.equal({ code: 0, err: '' })
    const lines = out.trim().split('\n').map(line => JSON.parse(line))
    expect(lines).to.have.length(9)
    for (const { name, megabytesPerSecond } of lines) expect(megabytesPerSecond, name).to.be.above(0)
    expect(await readdir(folder.path)).to.deep.equal([])
  })
})
