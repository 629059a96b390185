import { expect } from 'chai'
import fc from 'fast-check'
import { checkName, parseCheckLine } from '../../../../bin/commands/hashing/check.js'
import { Failure } from '../../../../bin/terminal/errors.js'
import { escapeName, fileLine } from '../../../../bin/terminal/format.js'
import { hash } from '../../../../lib/index.js'
import { hex } from '../../../support/bytes.js'
import { newFolder } from '../../../support/program.js'

const HASH = hex(hash(new TextEncoder().encode('b')))

describe('baobox hash --check', () => {
  const folder = newFolder()
  before(() => Promise.all([folder.write('b', 'b'), folder.write('c', 'c')]))
  const check = (input, ...args) => folder.run(['hash', '--check', ...args], { input })

  it('prints OK for files that are right, unless --quiet is given', async () => {
    const lines = `${HASH}  b\nBLAKE3 (b) = ${HASH}\r\n${HASH}  b`
    expect(await check(lines)).to.include({ code: 0, out: 'b: OK\nb: OK\nb: OK\n', err: '' })
    expect(await check(lines, '--quiet')).to.include({ code: 0, out: '', err: '' })
    expect(await check(lines, '--json', '-')).to.include({ code: 0, out: '{"name":"b","isRight":true}\n'.repeat(3) })
    expect(await check('')).to.include({ code: 0, out: '', err: '' })
  })

  it('prints FAILED for others, counts them, and exits with 1', async () => {
    const lines = `${HASH}  c\n${HASH}  nothing\n${HASH}  .\nnonsense\n\n${HASH}  b\n`
    const { code, out, err } = await check(lines, '--quiet')
    expect({ code, out }).to.deep.equal({
      code: 1,
      out: 'c: FAILED\nnothing: FAILED (No such file or directory (os error 2))\n' +
        '.: FAILED (Is a directory (os error 21))\n'
    })
    expect(err.split('\n')).to.have.length(4)
    expect(err).to.match(/baobox: WARNING: 5 computed checksums did NOT match\n$/)
    expect((await check(`${HASH}  c\n`)).err).to.equal('baobox: WARNING: 1 computed checksum did NOT match\n')
  })

  it('reads check files in any order, and ends at one that cannot be read', async () => {
    await folder.write('sums', `${HASH}  b\n`)
    expect(await folder.run(['hash', '-c', 'sums', 'sums'])).to.include({ code: 0, out: 'b: OK\nb: OK\n' })
    const { code, out, err } = await folder.run(['hash', '-c', 'sums', 'nothing', 'sums'])
    expect({ code, out }).to.deep.equal({ code: 1, out: 'b: OK\n' })
    expect(err).to.match(/^baobox: ENOENT.*\n$/)
  })

  it('refuses check files that are not UTF-8, or have no lines', async () => {
    expect((await check(Uint8Array.of(0xff, 10))).err).to.include('not UTF-8')
    expect((await check(new Uint8Array(3_000_000).fill(97))).err).to.include('has a line of more than')
  })

  it('reads every name that a line can have', () => {
    const names = fc.string({ minLength: 1, unit: 'grapheme' }).filter(name => !/[\0\ufffd]/.test(name))
    fc.assert(fc.property(names, name => {
      expect(parseCheckLine(fileLine(HASH, name).slice(0, -1))).to.include({ file: name, expected: HASH })
      // A line that fits both forms is read as one with two spaces after the hash, as in b3sum.
      if (name.includes('  ')) return
      const { name: escaped, mark } = escapeName(name)
      const { file, shown } = parseCheckLine(`${mark}BLAKE3 (${escaped}) = ${HASH}`)
      expect({ file, shown }).to.deep.equal({ file: name, shown: mark + escaped })
    }))
  })

  for (const line of [
    '', HASH, `${HASH} b`, `${HASH.toUpperCase()}  b`, `${HASH}0  b`, `${HASH.slice(1)}  b`, `${HASH}  `, '\\',
    `\\${HASH}  \\`, `\\${HASH}  a\\tb`, `\\${HASH}  a\\\\\\`, `${HASH}  a\0`, `${HASH}  \ufffd`, `BLAKE3 () = ${HASH}`,
    `BLAKE3 (b) = ${HASH}0`, `BLAKE3 (b)= ${HASH}`, `BLAKE2 (b) = ${HASH}`
  ]) {
    it(`refuses the line ${JSON.stringify(line)}`, () => expect(() => parseCheckLine(line)).to.throw(Failure))
  }

  it('on Windows, prints slashes for backslashes, and refuses backslashes', () => {
    expect(escapeName('a\\b', 'win32')).to.deep.equal({ name: 'a/b', mark: '' })
    expect(() => checkName('a\\b', 'win32')).to.throw(Failure)
    expect(() => checkName('a\\b', 'linux')).to.not.throw()
  })
})
