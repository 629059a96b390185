import { expect } from 'chai'
import { paint } from '../../../bin/terminal/color.js'
import { newFolder } from '../../support/program.js'

describe('colours', () => {
  const folder = newFolder()

  it('are printed on terminals, unless the user wants none', () => {
    expect(paint('red', 'x', { isTTY: true }, {})).to.equal('\x1b[31mx\x1b[39m')
    expect(paint('red', 'x', { isTTY: true }, { NO_COLOR: '' })).to.equal('\x1b[31mx\x1b[39m')
    expect(paint('red', 'x', { isTTY: true }, { NO_COLOR: '1' })).to.equal('x')
    expect(paint('red', 'x', { isTTY: true }, { TERM: 'dumb' })).to.equal('x')
    expect(paint('red', 'x', {}, {})).to.equal('x')
  })

  it('are not printed to pipes', async () => {
    const { err } = await folder.run(['hash', 'nothing'])
    expect(err).to.match(/^baobox: ENOENT/)
  })
})
