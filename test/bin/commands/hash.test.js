import { expect } from 'chai'
import { Hasher, hash, keyedHash, toCid } from '../../../lib/index.js'
import { hex } from '../../support/bytes.js'
import { KEY, noise } from '../../support/inputs.js'
import { newFolder } from '../../support/program.js'

describe('baobox hash', () => {
  const folder = newFolder()
  const bytes = noise(3_000_000)
  before(() => Promise.all([folder.write('a', bytes), folder.write('b', 'b'), folder.write('empty', '')]))

  const prints = async (out, args, options) => {
    expect(await folder.run(['hash', ...args], options)).to.include({ code: 0, out, err: '' })
  }

  it('prints a line for each file', () => {
    const line = (name, content) => `${hex(hash(content))}  ${name}\n`
    const lines = [line('a', bytes), line('b', Buffer.from('b')), line('empty', Buffer.of())]
    return prints(lines.join(''), ['a', 'b', 'empty'])
  })

  it('reads stdin', async () => {
    await Promise.all([[], ['-']].map(args => prints(`${hex(hash(bytes))}  -\n`, args, { input: bytes })))
  })

  it('hashes with a key, and prints outputs of any length', async () => {
    await prints(`${hex(keyedHash(KEY, bytes))}  a\n`, ['a', '--key', hex(KEY)])
    await prints(`${hex(hash(bytes, 100))}  a\n`, ['a', '--length=100'])
    await prints(`${hex(new Hasher().update(bytes).digest(200 * 1024))}  a\n`, ['a', '--length', '200KiB'])
  })

  it('prints CIDs', () => prints(`${toCid(hash(bytes))}  a\n`, ['a', '--cid']))

  it('goes on after a file that fails', async () => {
    const { code, out, err } = await folder.run(['hash', 'nothing', 'b'])
    expect({ code, out }).to.deep.equal({ code: 1, out: `${hex(hash(Buffer.from('b')))}  b\n` })
    expect(err).to.match(/^baobox: ENOENT.*\n$/)
  })

  it('escapes line breaks in a file name', async function () {
    if (process.platform === 'win32') this.skip()
    await folder.write('x\n\\y', 'b')
    await prints(`\\${hex(hash(Buffer.from('b')))}  x\\n\\\\y\n`, ['x\n\\y'])
  })
})
