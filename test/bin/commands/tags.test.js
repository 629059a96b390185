import { expect } from 'chai'
import { HASHSEQ, hash, toCid } from '../../../lib/index.js'
import { concat } from '../../support/bytes.js'
import { newFolder } from '../../support/program.js'

const contents = ['a', 'b', 'c'].map(text => new TextEncoder().encode(text))
const [a, b, c] = contents.map(bytes => `${toCid(hash(bytes))}`)
const sequence = concat(contents.slice(0, 2).map(bytes => hash(bytes)))

describe('baobox tag, gc', () => {
  const folder = newFolder()

  it('a tag keeps its blobs, and gc deletes all others', async () => {
    for (const [i, bytes] of contents.entries()) await folder.write(`${i}`, bytes)
    await folder.write('sequence', sequence)
    await folder.run(['add', '0', '1', '2', 'sequence'])
    const root = `${toCid(hash(sequence))}`
    expect(await folder.run(['tag', 'both', root, '--hashseq'])).to.include({ code: 0, out: '', err: '' })
    expect((await folder.run(['tag'])).out).to.equal(`${toCid(hash(sequence), HASHSEQ)}  hashseq  "both"\n`)
    expect((await folder.run(['gc', '--dry-run'])).out).to.equal(`${c}  1 byte\nwould delete 1 blob, 1 byte\n`)
    expect((await folder.run(['gc'])).out).to.equal(`${c}  1 byte\ndeleted 1 blob, 1 byte\n`)
    expect((await folder.run(['ls'])).out.trim().split('\n').sort()).to.deep.equal([a, b, root].sort())

    await folder.run(['tag', 'b', b])
    expect(await folder.run(['tag', '--delete', 'both'])).to.include({ code: 0, out: '' })
    const again = await folder.run(['tag', '--delete', 'both'])
    expect(again).to.include({ code: 1, out: '', err: 'baobox: there is no tag "both"\n' })
    expect((await folder.run(['gc'])).out).to.include('deleted 2 blobs, 65 bytes\n')
    expect((await folder.run(['ls'])).out).to.equal(`${b}\n`)
    for (const args of [['x'], ['--delete'], ['--delete', 'x', b], ['', b], ['x', 'y']]) {
      expect(await folder.run(['tag', ...args]), args.join(' ')).to.include({ code: 2, out: '' })
    }
  })
})
