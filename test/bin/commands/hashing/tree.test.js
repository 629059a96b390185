import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { hash, rootHash, subtreeCv, toCid } from '../../../../lib/index.js'
import { hex } from '../../../support/bytes.js'
import { noise } from '../../../support/inputs.js'
import { newFolder } from '../../../support/program.js'

const bytes = noise(3_000_000)
const cid = `${toCid(hash(bytes))}`

describe('baobox tree', () => {
  const folder = newFolder()
  const jsonOf = async (...args) => JSON.parse((await folder.run(['tree', '--json', ...args])).out)
  before(async () => {
    await folder.write('a', bytes)
    await folder.write('small', 'small')
    await folder.write('empty', '')
    await folder.run(['add', 'a', '--tag', 'tagged'])
  })

  it('draws the chaining values of the bytes', async () => {
    const { cid: name, size, root } = await jsonOf('a', '--depth', '2')
    expect({ name, size, cv: root.cv }).to.deep.equal({ name: cid, size: bytes.length, cv: hex(hash(bytes)) })
    const visit = ({ cv, start, end, chunks, children }, isRoot) => {
      if (!isRoot) expect(cv).to.equal(hex(subtreeCv(bytes.subarray(start, end), start / 1024)))
      expect(chunks).to.equal(Math.ceil((end - start) / 1024))
      for (const child of children) visit(child)
      return children.length === 0 ? 1 : children.reduce((sum, child) => sum + visit(child), 0)
    }
    expect(visit(root, true), 'leaves, of 1 MiB each').to.equal(3)
    const [left, right] = root.children.map(({ cv }) => Buffer.from(cv, 'hex'))
    expect(hex(rootHash(new Uint8Array(left), new Uint8Array(right)))).to.equal(root.cv)
  })

  it('draws the same for a file, for stdin, and for a blob in a store', async () => {
    const expected = (await folder.run(['tree', 'a'])).out
    expect(expected.split('\n')).to.have.length(1 + 23 + 1)
    for (const name of [cid, 'tagged']) expect((await folder.run(['tree', name])).out).to.equal(expected)
    expect((await folder.run(['tree', '-'], { input: bytes })).out).to.equal(expected)
  })

  it('draws down to a group log, in as many levels as wanted', async () => {
    expect((await folder.run(['tree', 'a', '--group-log', '11'])).out.split('\n')).to.have.length(1 + 3 + 1)
    for (const name of ['a', cid]) {
      const { out } = await folder.run(['tree', name, '--depth', '12', '--group-log', '8', '--long'])
      expect(out.split('\n')).to.have.length(1 + 23 + 1)
      expect(out).to.include(`\n${hex(hash(bytes))}  0-3000000  2930 chunks\n├─ `)
    }
  })

  it('draws blobs of one chunk', async () => {
    for (const [name, size] of [['small', '5 bytes'], ['empty', '0 bytes']]) {
      const { code, out } = await folder.run(['tree', name])
      expect(code).to.equal(0)
      expect(out).to.match(new RegExp(`^\\w+, ${size}\n[0-9a-f]{16}  0-${size[0]}  1 chunk\n$`))
    }
  })

  it('draws an SVG with a box for each node', async () => {
    const made = await folder.run(['tree', 'a', '--svg', '-o', 'tree.svg'])
    expect(made).to.include({ code: 0, out: '', err: '' })
    const svg = await readFile(folder.at('tree.svg'), 'utf8')
    expect(svg).to.match(/^<svg xmlns="http:\/\/www.w3.org\/2000\/svg" [^]*<\/svg>\n$/)
    expect(svg.match(/<rect x=/g)).to.have.length(23)
    expect(svg.match(/<line /g)).to.have.length(22)
    expect(svg).to.include(hex(hash(bytes)))
    for (const [tag] of svg.matchAll(/<[^>]*>/g)) expect(tag).to.not.match(/NaN|undefined/)
  })
})
