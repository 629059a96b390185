import { once } from 'node:events'
import { expect } from 'chai'
import { HASHSEQ, hash, toCid } from '../../../../lib/index.js'
import { concat } from '../../../support/bytes.js'
import { newFolder, stopped } from '../../../support/program.js'

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
    expect((await folder.run(['ls'])).out.trim().split('\n').sort()).to.deep
      .equal([a, b, `${toCid(hash(sequence), HASHSEQ)}`].sort())

    await folder.run(['tag', '\x9b2J\u202e', b])
    expect((await folder.run(['tag'])).out.split('\n')).to.include(`${b}  raw      "\\x9b2J\\u202e"`)
    expect((await folder.run(['stat', b])).out).to.match(/^tags +"\\x9b2J\\u202e"$/m)
    await folder.run(['tag', '--delete', '\x9b2J\u202e'])

    await folder.run(['tag', 'b', b])
    expect(await folder.run(['tag', '--delete', 'both'])).to.include({ code: 0, out: '' })
    const again = await folder.run(['tag', '--delete', 'both'])
    expect(again).to.include({ code: 1, out: '', err: 'baobox: there is no tag "both"\n' })
    expect((await folder.run(['gc'])).out).to.include('deleted 2 blobs, 65 bytes\n')
    expect((await folder.run(['ls'])).out).to.equal(`${b}\n`)
    for (const args of [['x'], ['--delete'], ['--delete', 'x', b], ['', b], ['--delete', '--hashseq', 'x']]) {
      expect(await folder.run(['tag', ...args]), args.join(' ')).to.include({ code: 2, out: '' })
    }
    for (const name of ['rm', 'remove', 'delete']) {
      const { code, err } = await folder.run(['tag', name, 'b'])
      expect([code, err.includes("'baobox tag --delete b'")], name).to.deep.equal([2, true])
    }
    expect((await folder.run(['tag'])).out).to.equal(`${b}  raw      "b"\n`)
    expect(await folder.run(['tag', 'rm', b])).to.include({ code: 0, err: '' })
    expect(await folder.run(['tag', '--delete', 'rm'])).to.include({ code: 0, err: '' })
    expect((await folder.run(['tag', 'x', 'y'])).err).to.equal("baobox: 'y' is neither a CID nor a tag of the store\n")
    const foreign = 'bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy'
    expect((await folder.run(['tag', 'x', foreign])).err).to.include(`'${foreign}' is a CID of another hash function`)
  })

  it('a tag may be given in place of a CID', async () => {
    await folder.run(['add', '0', '--tag', 'first'])
    expect(await folder.run(['tag', 'second', 'first'])).to.include({ code: 0, err: '' })
    const lines = (await folder.run(['tag', '--json'])).out.trim().split('\n').map(line => JSON.parse(line))
    expect(lines).to.deep.include.members(['first', 'second'].map(name => ({ name, cid: a, format: 'raw' })))
    for (const args of [['get', 'second'], ['cat', 'second']]) expect((await folder.run(args)).out).to.equal('a')
    expect((await folder.run(['has', 'second'])).out).to.equal('second  complete\n')
    expect((await folder.run(['stat', 'second'])).out).to.include(a).and.to.match(/tags +"first" "second"/)
    expect(await folder.run(['missing', 'second'])).to.include({ code: 0, out: '' })
    await folder.run(['tag', '--delete', 'first'])
    expect((await folder.run(['rm', 'second'])).err).to.match(/^baobox: STORE_TAGGED: /)
    expect(await folder.run(['rm', '--force', 'second'])).to.include({ code: 0, err: '' })
    expect(await folder.run(['has', 'second'])).to.include({ code: 1, out: 'second  absent\n', err: '' })
  })

  it('errors have codes with --json, also if another process has the store open', async () => {
    const codes = async () => {
      for (const [code, place, args] of [
        ['STORE_TAG_NOT_FOUND', { tag: 'nope' }, ['tag', '--delete', 'nope']],
        ['STORE_TAG_NOT_FOUND', {}, ['tag', 'new', 'nope']],
        ['STORE_TAG_NOT_FOUND', {}, ['rm', 'nope']],
        ['STORE_NOT_FOUND', { cid: c }, ['rm', c]]
      ]) {
        const { error } = JSON.parse((await folder.run([...args, '--json'])).err.split('\n').at(-2))
        expect(error, args.join(' ')).to.include({ code, ...place })
      }
    }
    await codes()
    const server = folder.start(['serve', '--port', '0', '--quiet'])
    await once(server.stdout, 'data')
    await codes()
    await stopped(server)
  })

  it('gc prints exact bytes, or JSON', async () => {
    await folder.write('long', new Uint8Array(5000))
    await folder.run(['add', 'long'])
    const cid = `${toCid(hash(new Uint8Array(5000)))}`
    expect((await folder.run(['gc', '-n', '--bytes'])).out).to.include(`${cid}  5000\n`)
    const { out } = await folder.run(['gc', '--json'])
    const lines = out.trim().split('\n').map(line => JSON.parse(line))
    expect(lines).to.deep.include({ cid, bytes: 5000 })
    expect(lines.at(-1)).to.include({ dryRun: false })
    expect(await folder.run(['compact'])).to.include({ code: 0, out: '', err: '' })
  })
})
