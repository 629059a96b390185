import { expect } from 'chai'
import { Hasher, deriveKey, hash, keyedHash } from '../../../../lib/index.js'
import { hex } from '../../../support/bytes.js'
import { KEY, noise } from '../../../support/inputs.js'
import { newFolder } from '../../../support/program.js'

describe('baobox hash', () => {
  const folder = newFolder()
  const bytes = noise(3_000_000)
  const line = (name, content) => `${hex(hash(content))}  ${name}\n`
  before(() => Promise.all([folder.write('a', bytes), folder.write('b', 'b'), folder.write('empty', '')]))

  const prints = async (out, args, options) => {
    expect(await folder.run(['hash', ...args], options)).to.include({ code: 0, out, err: '' })
  }

  it('prints a line for each file', () => {
    const lines = [line('a', bytes), line('b', Buffer.from('b')), line('empty', Buffer.of())]
    return prints(lines.join(''), ['a', 'b', 'empty'])
  })

  it('reads stdin', async () => {
    await Promise.all([[], ['-']].map(args => prints(`${hex(hash(bytes))}  -\n`, args, { input: bytes })))
  })

  it('prints outputs of any length, from any position', async () => {
    const output = new Hasher().update(bytes).reader()
    await prints(`${hex(hash(bytes, 100))}  a\n`, ['a', '--length=100'])
    await prints(`${hex(output.read(200 * 1024))}  a\n`, ['a', '-l', '200KiB'])
    await prints(`${hex(output.seek(77).read(32))}  a\n`, ['a', '--seek', '77'])
    await prints(`${hex(output.seek(2 ** 40).read(5))}  a\n`, ['a', '--seek', '1TiB', '--length', '5'])
    await prints('  a\n', ['a', '--length', '0'])
  })

  it('hashes with the key in stdin, and refuses a wrong key', async () => {
    await prints(`${hex(keyedHash(KEY, bytes))}  a\n`, ['a', '--keyed'], { input: KEY })
    await prints(`${hex(keyedHash(KEY, bytes, 100))}  a\n`, ['a', '--keyed', '-l', '100'], { input: KEY })
    for (const len of [0, 31, 33, 100_000]) {
      const { code, out, err } = await folder.run(['hash', '--keyed', 'a'], { input: noise(len) })
      expect({ code, out }, `${len} bytes`).to.deep.equal({ code: 1, out: '' })
      expect(err).to.include('32')
    }
    const both = await folder.run(['hash', '--keyed', '-', 'a'], { input: KEY })
    expect(both).to.include({ code: 1, out: `${hex(keyedHash(KEY, bytes))}  a\n` })
    expect(both.err).to.include('stdin has the key')
  })

  it('derives keys', async () => {
    await prints(`${hex(deriveKey('some context', bytes))}  a\n`, ['a', '--derive-key', 'some context'])
    await prints(`${hex(deriveKey('', bytes, 64))}  a\n`, ['a', '--derive-key=', '-l64'])
  })

  it('prints raw bytes, no names, BSD lines, or JSON', async () => {
    const root = hash(bytes)
    const raw = await folder.run(['hash', '--raw', 'a'])
    expect(raw).to.deep.include({ code: 0, err: '', bytes: new Uint8Array(root) })
    await prints(`${hex(root)}\n${hex(hash(Buffer.from('b')))}\n`, ['a', 'b', '--no-names'])
    await prints(`BLAKE3 (a) = ${hex(root)}\n`, ['a', '--tag'])
    await prints(`{"name":"a","hash":"${hex(root)}"}\n`, ['a', '--json'])
  })

  it('takes a number of threads', async () => {
    for (const args of [['--num-threads', '1'], ['--num-threads', '2'], ['--num-threads', '0'], ['--no-mmap']]) {
      await prints(line('a', bytes), [...args, 'a'])
    }
  })

  it('goes on after a file that fails', async () => {
    const { code, out, err } = await folder.run(['hash', 'nothing', 'b'])
    expect({ code, out }).to.deep.equal({ code: 1, out: line('b', Buffer.from('b')) })
    expect(err).to.match(/^baobox: ENOENT.*\n$/)
  })

  it('escapes line breaks in a file name, which --check reads', async function () {
    if (process.platform === 'win32') this.skip()
    await folder.write('x\n\\y\r', 'b')
    const out = `\\${hex(hash(Buffer.from('b')))}  x\\n\\\\y\\r\n`
    await prints(out, ['x\n\\y\r'])
    await prints(`\\BLAKE3 (x\\n\\\\y\\r) = ${hex(hash(Buffer.from('b')))}\n`, ['--tag', 'x\n\\y\r'])
    await prints('\\x\\n\\\\y\\r: OK\n', ['--check'], { input: out })
  })
})
