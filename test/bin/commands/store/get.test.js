import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, readdir, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { hash, toCid } from '../../../../lib/index.js'
import { BlobStore } from '../../../../store/index.js'
import { flipped, same } from '../../../support/bytes.js'
import { noise } from '../../../support/inputs.js'
import { onDisk, sliceOf } from '../../../support/store/stores.js'
import { ended, newFolder } from '../../../support/program.js'

const bytes = noise(3_000_000)
const cid = `${toCid(hash(bytes))}`
const unknown = `${toCid(new Uint8Array(32))}`

describe('baobox add, get, cat, ls', () => {
  const folder = newFolder()
  before(async () => {
    await folder.write('a', bytes)
    await folder.write('b', 'b')
    await folder.run(['add', 'a'])
  })

  it('add prints which blobs are new, and goes on after a file that fails', async () => {
    const first = await folder.run(['add', '--store', 'other', 'a', 'nothing', 'a', 'b'])
    expect(first.code).to.equal(1)
    expect(first.out.split('\n').map(line => line.split(/ {2,}/))).to.deep.equal([
      [cid, '2.86 MiB', 'new', 'a'],
      [cid, '2.86 MiB', 'already there', 'a'],
      [`${toCid(hash(Buffer.from('b')))}`, '1 byte', 'new', 'b'],
      ['']
    ])
    expect(first.err).to.match(/^baobox: ENOENT.*\n$/)
  })

  it('add --tag tags the blob, so that gc keeps it', async () => {
    const args = ['--store', 'named']
    await folder.run(['add', ...args, '--tag', 'kept', 'b'])
    await folder.run(['add', ...args, 'a'])
    expect((await folder.run(['gc', ...args])).out).to.include('deleted 1 blob, 2.86 MiB')
    expect((await folder.run(['tag', ...args])).out).to.equal(`${toCid(hash(Buffer.from('b')))}  raw      "kept"\n`)
  })

  it('rm deletes only blobs without a tag, or any blob with --force, and goes on after a failure', async () => {
    const args = ['--store', 'emptied']
    const tagged = `${toCid(hash(Buffer.from('b')))}`
    await folder.run(['add', ...args, 'a'])
    await folder.run(['add', ...args, '--tag', 'kept', 'b'])
    const { code, out, err } = await folder.run(['rm', ...args, unknown, tagged, cid])
    expect({ code, out }).to.deep.equal({ code: 1, out: '' })
    const [notThere, isTagged, ...more] = err.split('\n')
    expect(notThere).to.equal(`baobox: ${unknown} is not in the store`)
    expect(isTagged).to.match(/^baobox: STORE_TAGGED: /).and.include(tagged).and.include('kept').and.include('--force')
    expect(more).to.deep.equal([''])
    expect((await folder.run(['ls', ...args])).out).to.equal(`${tagged}\n`)
    expect(await folder.run(['rm', ...args, '--force', tagged])).to.include({ code: 0, out: '', err: '' })
    expect((await folder.run(['ls', ...args])).out).to.equal('')
  })

  it('add goes on after a file that fails, and exits with 1', async () => {
    for (const name of ['a', 'b', 'c']) await folder.write(name, name)
    const { code, out, err } = await folder.run(['add', 'a', 'b', 'missing', 'c', '--store', 'several'])
    expect([code, out.trim().split('\n').map(line => line.at(-1))]).to.deep.equal([1, ['a', 'b', 'c']])
    expect(err).to.match(/^baobox: ENOENT.*missing.*\n$/)
    expect((await folder.run(['ls', '--store', 'several'])).out.trim().split('\n')).to.have.length(3)
  })

  it('add reads stdin, and uses the store that BAOBOX_STORE names', async () => {
    const env = { BAOBOX_STORE: folder.at('deep', 'down') }
    expect((await folder.run(['add', '-'], { env, input: bytes })).out).to.match(new RegExp(`^${cid} .* new +-\n$`))
    const piped = await folder.run(['add', '--tag', 'piped'], { env, input: bytes })
    expect(piped.out).to.match(new RegExp(`^${cid} .* already there +-\n$`))
    expect(await folder.run(['ls'], { env })).to.include({ code: 0, out: `${cid}\n`, err: '' })
  })

  it('get writes a blob, or a range of it', async () => {
    for (const [start, end, options] of [
      [0, Infinity, []],
      [0, 1, ['--end', '1']],
      [1_000_001, 2 ** 21, ['--start', '1000001', '--end', '2MiB']],
      [2_999_999, Infinity, ['--start', '2999999']],
      [5, 15, ['--start', '5', '--count', '10']],
      [4_000_000, Infinity, ['--start', '4000000']]
    ]) {
      const got = await folder.run(['get', cid, ...options])
      expect(got).to.include({ code: 0, err: '' })
      expect(same(got.bytes, bytes.subarray(start, end)), `${start} to ${end}`).to.equal(true)
    }
  })

  it('cat writes blobs one after the other', async () => {
    await folder.run(['add', 'b', '--tag', 'b'])
    const got = await folder.run(['cat', 'b', cid, 'b'])
    expect(got).to.include({ code: 0, err: '' })
    expect(same(got.bytes, Buffer.concat([Buffer.from('b'), bytes, Buffer.from('b')]))).to.equal(true)
    const partly = await folder.run(['cat', 'b', unknown, 'b'])
    expect(partly).to.include({ code: 1, out: 'b' })
    expect(partly.err).to.match(/^baobox: STORE_NOT_FOUND: .*\n$/)
  })

  it('get writes a file, or replaces the target of a symbolic link', async () => {
    await folder.write('old', 'old')
    if (process.platform !== 'win32') await symlink('old', folder.at('link'))
    for (const [name, args] of Object.entries({ old: ['-o', 'old'], link: ['-o', 'link'], new: ['new'] })) {
      if (name === 'link' && process.platform === 'win32') continue
      expect(await folder.run(['get', cid, ...args])).to.include({ code: 0, out: '', err: '' })
      expect(same(await readFile(folder.at(name)), bytes)).to.equal(true)
    }
    expect(same(await readFile(folder.at('old')), bytes)).to.equal(true)
  })

  it('get writes into a named pipe and does not replace it', async function () {
    if (process.platform === 'win32') this.skip()
    execFileSync('mkfifo', [folder.at('pipe')])
    const [result, got] = await Promise.all([folder.run(['get', cid, '-o', 'pipe']), readFile(folder.at('pipe'))])
    expect(result).to.include({ code: 0, out: '', err: '' })
    expect(same(got, bytes)).to.equal(true)
    expect((await stat(folder.at('pipe'))).isFIFO()).to.equal(true)
  })

  it('get exits with 0 and prints no error when the reader of stdout ends', async () => {
    const child = folder.start(['get', cid])
    const end = ended(child)
    await once(child.stdout, 'data')
    child.stdout.destroy()
    expect(await end).to.include({ code: 0, err: '' })
  })

  it('get leaves no file when the blob is not in the store', async () => {
    await mkdir(folder.at('out'))
    const { code, out, err } = await folder.run(['get', unknown, '-o', 'out/x'])
    expect({ code, out }).to.deep.equal({ code: 1, out: '' })
    expect(err).to.match(/^baobox: STORE_NOT_FOUND: .*\n$/).and.include(unknown)
    expect((await folder.run(['get', cid, '-o', 'out'])).err).to.equal('baobox: out is a directory\n')
    const { err: homeless } = await folder.run(['get', cid, 'nowhere/x'])
    expect(homeless).to.equal('baobox: there is no folder nowhere for nowhere/x\n')
    expect(await readdir(folder.at('out'))).to.deep.equal([])
  })

  it('ls lists the given number of blobs, in the given order', async () => {
    const cids = []
    for (const text of ['x', 'y', 'z']) {
      const { out } = await folder.run(['add', '--json', '--store', 'ordered', '-'], { input: text })
      cids.push(JSON.parse(out).cid)
      await new Promise(resolve => setTimeout(resolve, 5)) // times of blobs are in milliseconds
    }
    const listed = async args => (await folder.run(['ls', '--store', 'ordered', ...args])).out.trim().split('\n')
    expect(await listed(['--order', 'created'])).to.deep.equal(cids)
    expect(await listed(['--order', 'created', '-r', '--limit', '2'])).to.deep.equal([cids[2], cids[1]])
    expect(await listed(['--reverse'])).to.deep.equal((await listed([])).reverse())
    for (const wrong of [['--order', 'size'], ['--limit', '0'], ['--limit', 'x']]) {
      expect((await folder.run(['ls', ...wrong])).code, wrong.join(' ')).to.equal(2)
    }
  })

  it('ls --long prints sizes, how much is present, and times', async () => {
    await folder.run(['add', '--store', 'listed', 'b'])
    const store = await BlobStore.open(folder.at('listed'))
    await store.receive(cid, sliceOf(bytes, { start: 0, end: 16384 }), { start: 0, end: 16384 })
    // The program can read a store that this process has open, but not change it.
    for (const args of [['ls'], ['has', cid], ['cat', `${toCid(hash(Buffer.from('b')))}`]]) {
      const { out, err } = await folder.run([...args, '--store', 'listed'])
      expect(out).to.not.equal('')
      expect(err).to.match(/^baobox: .*listed.*: reading it as it is now\n$/)
    }
    for (const args of [['add', 'b'], ['rm', cid], ['gc']]) {
      const { code, err } = await folder.run([...args, '--store', 'listed', '--wait', '0'])
      expect(code).to.equal(1)
      expect(err).to.match(/^baobox: STORE_LOCKED: .*\n$/)
    }
    await store.close()

    const { out } = await folder.run(['ls', '--long', '--store', 'listed'])
    const whole = toCid(hash(Buffer.from('b')))
    const TIME = '\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d'
    expect(out).to.match(new RegExp(`^${whole} +1 byte +complete +${TIME}  ${TIME}$`, 'm'))
    expect(out).to.match(new RegExp(`^${cid} +2.86 MiB\\? +16.00 KiB present +${TIME}  ${TIME}$`, 'm'))
    const missing = await folder.run(['get', cid, '--store', 'listed'])
    expect(missing).to.include({ code: 1, out: '' })
    expect(missing.err).to.match(/^baobox: STORE_MISSING: .*: get them with 'baobox fetch'.*\n$/).and.include(cid)
  })

  it('get writes no byte of a damaged group, and no file', async () => {
    await writeFile(folder.at('kept'), 'kept')
    for (const file of ['kept', 'never', '-']) {
      const place = await onDisk()
      try {
        const store = await place.open()
        await store.put(bytes)
        await store.close()
        const [id] = await place.look(({ files }) => files)
        const path = join(place.where, 'blobs', `${id}`)
        await writeFile(path, flipped(await readFile(path), (1 << 20) + 5))
        const { code, err, bytes: got } = await folder.run(['get', cid, '--store', place.where, '-o', file])
        expect(code).to.equal(1)
        expect(err).to.match(/^baobox: STORE_CORRUPT: .*1048576\D+1064960.*: receive them, or put the blob again\n$/)
        expect(same(got, bytes.subarray(0, file === '-' ? 1 << 20 : 0)), 'the bytes before the damage').to.equal(true)
      } finally {
        await place.remove()
      }
    }
    expect(await readFile(folder.at('kept'), 'utf8')).to.equal('kept')
    expect((await readdir(folder.path)).filter(name => /^never|^\.baobox-/.test(name))).to.deep.equal([])
  })

  it('an interrupted add leaves nothing', async function () {
    if (process.platform === 'win32') this.skip()
    const child = folder.start(['add', '--store', 'interrupted', '-'])
    const end = ended(child)
    // More than fits into a pipe: when all of it is written, the program must have read some.
    await new Promise(resolve => child.stdin.write(noise(9_000_000), resolve))
    child.kill('SIGINT')
    expect(await end).to.include({ code: 130, out: '', err: 'baobox: interrupted\n' })
    expect(await readdir(folder.path)).to.not.include('interrupted')
  })
})
