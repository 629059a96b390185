// Folders and collections on the command line.
import { mkdir, readFile, readdir, stat, symlink, writeFile } from 'node:fs/promises'
import { expect } from 'chai'
import { CID } from 'multiformats/cid'
import { sha256 } from 'multiformats/hashes/sha2'
import { HASHSEQ, hash, toCid } from '../../../../lib/index.js'
import { BlobStore } from '../../../../store/index.js'
import { asBlockstore } from '../../../../exchange/blockstore/index.js'
import { Collection, Manifest, putCollection } from '../../../../exchange/collections/index.js'
import { entryText } from '../../../../bin/terminal/format.js'
import { sliceOf } from '../../../support/store/stores.js'
import { filesBelow, writeFiles } from '../../../support/folders.js'
import { noise } from '../../../support/inputs.js'
import { newFolder } from '../../../support/program.js'

const long = noise(2_000_000)
const FILES = { 'a.txt': 'one', 'sub/b.txt': 'two', 'sub/c.log': 'three', long }
const bytesOf = value => typeof value === 'string' ? new TextEncoder().encode(value) : value
const cidGone = CID.createV1(0x55, await sha256.digest(bytesOf('gone')))
const namesOf = folder => Object.keys(FILES).sort().map(name => `${folder}/${name}`)
const cidOf = folder => `${Collection.from(Object.entries(FILES).sort(([a], [b]) => a < b ? -1 : 1)
  .map(([name, bytes]) => [`${folder}/${name}`, hash(bytesOf(bytes))])).cid}`

describe('baobox add -r, get -r, ls CID, cat CID/NAME, diff', () => {
  const folder = newFolder()
  const cid = cidOf('site')
  before(async () => {
    await mkdir(folder.at('site'))
    await writeFiles(folder.at('site'), FILES)
    await folder.run(['add', '-r', 'site', '--tag', 'site'])
  })

  it('add -r prints the CID that sendme gives, and --tag keeps all files', async () => {
    const args = ['--store', 'fresh']
    const first = await folder.run(['add', ...args, '-r', 'site', '--tag', 'kept'])
    expect(first).to.include({ code: 0, err: '' })
    expect(first.out).to.equal(`${cid}     1.91 MiB  new            site\n`)
    const again = await folder.run(['add', ...args, '--recursive', 'site', '--json'])
    const unsafe = { count: 0, names: [] }
    const record = { name: 'site', cid, size: 2_000_011, isNew: false, files: 4, unread: 0, unsafe }
    expect(JSON.parse(again.out)).to.deep.equal(record)
    expect((await folder.run(['gc', ...args])).out).to.include('deleted 0 blobs')
    expect((await folder.run(['tag', ...args])).out).to.equal(`${cid}  hashseq  "kept"\n`)
  })

  it('add -r takes several folders, goes on after one that fails, and chooses files', async () => {
    await mkdir(folder.at('other'))
    const { code, out, err } = await folder.run(['add', '-r', 'nowhere', 'other', 'site/a.txt'])
    expect(code).to.equal(1)
    expect(out.split('\n')).to.have.length(3)
    expect(err).to.match(/^baobox: ENOENT.*\n$/)
    const options = ['--ignore', '*.log', '--ignore', '/long', '--top', '', '--json']
    const some = await folder.run(['add', '-r', 'site', ...options])
    const { cid } = JSON.parse(some.out)
    expect((await folder.run(['ls', cid])).out).to.equal('a.txt\nsub/b.txt\n')
    const included = JSON.parse((await folder.run(['add', '-r', 'site', '--include', 'sub', '--json'])).out)
    expect((await folder.run(['ls', included.cid])).out).to.equal('site/sub/b.txt\nsite/sub/c.log\n')
  })

  it('add -r --skip-errors leaves out what cannot be put, prints a line for each, and exits with 1', async function () {
    if (process.platform !== 'linux') this.skip()
    await mkdir(folder.at('mixed'))
    await writeFiles(folder.at('mixed'), { a: 'a', 'back\\slash': 'x', z: 'z' })
    await writeFile(Buffer.concat([Buffer.from(folder.at('mixed', 'no')), Buffer.of(0xff)]), 'x')
    const strict = await folder.run(['add', '-r', 'mixed'])
    expect(strict).to.include({ code: 1, out: '' })
    expect(strict.err).to.match(/^baobox: PATH_UNSAFE: .*: rename it, or leave it out with --skip-errors\n$/)
    const { code, out, err: errors } = await folder.run(['add', '-r', 'mixed', '--skip-errors', '--json'])
    expect(errors.trim().split('\n').map(line => JSON.parse(line).error).map(({ code, name }) => [code, name]))
      .to.deep.equal([['PATH_UNSAFE', 'mixed/back\\slash'], ['PATH_UNSAFE', 'mixed/no\ufffd']])
    const { err } = await folder.run(['add', '-r', 'mixed', '--skip-errors'])
    const { cid, files, skipped } = JSON.parse(out)
    expect({ code, files, skipped }).to.deep.equal({ code: 1, files: 2, skipped: 2 })
    expect((await folder.run(['ls', cid])).out).to.equal('mixed/a\nmixed/z\n')
    const [first, second, ...rest] = err.split('\n')
    expect(first).to.match(/^baobox: left out mixed\/back\\\\slash: PATH_UNSAFE: /)
    expect(second).to.match(/^baobox: left out mixed\/no\ufffd: PATH_UNSAFE: /)
    expect(rest).to.deep.equal([''])
    expect((await folder.run(['add', '-r', 'site', '--skip-errors'])).code).to.equal(0)
    expect((await folder.run(['add', 'site/a.txt', '--skip-errors'])).code).to.equal(2)
  })

  it('add -r warns of names that get -r will refuse', async function () {
    if (process.platform === 'win32') this.skip()
    const names = ['aux', 'con.txt', 'a\x1b[2J/nul', 'prn', 'z']
    await writeFiles(folder.at('devices'), Object.fromEntries(names.map(name => [name, ''])))
    const { code, out, err } = await folder.run(['add', '-r', 'devices', '--json'])
    const [first, ...others] = ['devices/a\x1b[2J/nul', 'devices/aux', 'devices/con.txt', 'devices/prn']
    expect(code).to.equal(0)
    expect(JSON.parse(out)).to.deep.include({ unsafe: { count: 4, names: [first, ...others] } })
    const why = 'on some systems these names have a special meaning, or are the same name'
    const shown = 'devices/a\\x1b[2J/nul, devices/aux, devices/con.txt, and 1 more'
    expect(err).to.equal(`baobox: warning: get -r will refuse devices: ${why}: ${shown}\n`)
    const refused = await folder.run(['get', '-r', JSON.parse(out).cid, 'refused'])
    expect(refused.err).to.match(/^baobox: PATH_UNSAFE: /)
  })

  it('add -r --known does not read unchanged files again', async () => {
    await folder.run(['add', '-r', 'site', '--known', 'site.known'])
    expect(await readFile(folder.at('site.known'), 'utf8')).to.match(/^baobox known files 1\n/)
  })

  it('ls prints the names in a collection, and their CIDs and sizes', async () => {
    for (const name of [cid, 'site']) {
      expect(await folder.run(['ls', name])).to.include({ code: 0, out: `${namesOf('site').join('\n')}\n`, err: '' })
    }
    const { out } = await folder.run(['ls', '--long', '--bytes', cid])
    expect(out.split('\n')[0]).to.equal(`${toCid(hash(bytesOf('one')))}            3  site/a.txt`)
    const [line] = (await folder.run(['ls', cid, '--json'])).out.split('\n')
    expect(JSON.parse(line)).to.deep.equal({ name: 'site/a.txt', cid: `${toCid(hash(bytesOf('one')))}`, size: 3 })
    const blob = await folder.run(['ls', `${toCid(hash(bytesOf('one')))}`])
    expect(blob.code).to.equal(1)
    expect(blob.err).to.match(/^baobox: COLLECTION_INVALID: /)
  })

  it('get warns that it writes the hashes of a folder, and not its files', async () => {
    for (const name of [cid, 'site']) {
      const { code, err } = await folder.run(['get', name, 'hashes'])
      expect([code, err.startsWith(`baobox: warning: '${name}' is a folder: `)]).to.deep.equal([0, true])
      expect(err).to.include('-r')
    }
  })

  it('cat, get and stat take a name in a collection after its CID or its tag', async () => {
    expect(await folder.run(['cat', `${cid}/site/sub/b.txt`, 'site/site/a.txt'])).to.include({ code: 0, out: 'twoone' })
    expect(await folder.run(['get', 'site/site/sub/c.log'])).to.include({ code: 0, out: 'three' })
    expect((await folder.run(['stat', `${cid}/site/long`])).out).to.include(`${toCid(hash(long))}`)
    for (const name of ['site/c.txt', 'site/', `${cid}/`, `${cid}/site`, `${cid}//site/a.txt`]) {
      const { code, err } = await folder.run(['cat', name])
      expect(code, name).to.equal(1)
      expect(err, name).to.match(/^baobox: the collection \S+ has no '.*': 'baobox ls' lists its names\n$/)
    }
    const { code, err } = await folder.run(['cat', 'site/sub/b.txt'])
    expect([code, err]).to.deep.equal(
      [1, "baobox: the collection site has no 'sub/b.txt': did you mean 'site/site/sub/b.txt'?\n"])
    expect((await folder.run(['cat', 'nothing/a'])).err).to.include("'nothing/a' is neither a CID nor a tag")
  })

  it('a tag with slashes has priority over a name in a collection', async () => {
    await folder.run(['tag', 'site/site', cid])
    expect(await folder.run(['cat', 'site/site/site/a.txt'])).to.include({ code: 0, out: 'one' })
    await folder.run(['tag', '--delete', 'site/site'])
  })

  it('get -r writes the files of a collection below a folder, and replaces nothing', async () => {
    expect(await folder.run(['get', '-r', cid, 'copy'])).to.include({ code: 0, out: '', err: '' })
    expect(await filesBelow(folder.at('copy', 'site'))).to.deep.equal(await filesBelow(folder.at('site')))
    const again = await folder.run(['get', '-r', 'site', 'copy'])
    expect(again.code).to.equal(1)
    expect(again.err).to.match(/^baobox: PATH_EXISTS: .*site/)
    for (const mode of ['--link', '--reflink']) {
      expect(await folder.run(['get', '-r', cid, mode, `copy${mode}`])).to.include({ code: 0, err: '' })
      expect(await filesBelow(folder.at(`copy${mode}`, 'site'))).to.deep.equal(await filesBelow(folder.at('site')))
    }
    expect((await stat(folder.at('copy--link', 'site', 'long'))).nlink).to.equal(2)
  })

  it('get -r refuses names that lead out of the folder', async () => {
    await mkdir(folder.at('target'))
    await symlink(folder.at('site'), folder.at('target', 'link'))
    for (const name of ['../out', 'link/out', 'link']) {
      const store = await BlobStore.open(folder.at('baobox'))
      const { cid } = await putCollection(store, [[name, hash(bytesOf('one'))]])
      await store.close()
      const { code, err } = await folder.run(['get', '-r', `${cid}`, 'target'])
      expect(code).to.equal(1)
      expect(err).to.match(/^baobox: PATH_(UNSAFE|EXISTS): /)
    }
    expect(await readdir(folder.at('target'))).to.deep.equal(['link'])
    expect(await readdir(folder.at('site'))).to.have.length(3)
  })

  it('add -r --manifest makes a manifest, which ls, cat, get and diff take', async () => {
    await mkdir(folder.at('web'))
    await writeFiles(folder.at('web'), { 'index.html': '<p>', 'css/main.css': 'p {}', data: 'x' })
    const args = ['--store', 'sites']
    const added = await folder.run(['add', ...args, '-r', '--manifest', 'web', '--tag', 'web', '--json'])
    const { cid, ...record } = JSON.parse(added.out)
    const unsafe = { count: 0, names: [] }
    expect(record).to.deep.equal({ name: 'web', size: 8, isNew: true, files: 3, unread: 0, unsafe })
    const expected = Manifest.fromCollection(Collection.from([
      ['css/main.css', hash(bytesOf('p {}'))], ['data', hash(bytesOf('x'))], ['index.html', hash(bytesOf('<p>'))]
    ]))
    expect(cid).to.equal(`${expected.cid}`)
    await folder.run(['gc', ...args])
    for (const name of [cid, 'web']) {
      const { code, out } = await folder.run(['ls', ...args, name])
      expect({ code, paths: out.trim().split('\n').sort() })
        .to.deep.equal({ code: 0, paths: ['/', '/css/main.css', '/data', '/index.html'] })
      const cat = await folder.run(['cat', ...args, `${name}/`, `${name}/css/main.css`, `${name}/data`])
      expect(cat).to.include({ code: 0, out: '<p>p {}x' })
    }
    const lines = (await folder.run(['ls', ...args, cid, '--json'])).out.trim().split('\n')
    expect(lines.map(line => JSON.parse(line)).find(({ name }) => name === '/css/main.css')).to.deep.equal({
      name: '/css/main.css', cid: `${toCid(hash(bytesOf('p {}')))}`, size: 4, type: 'text/css; charset=utf-8'
    })
    for (const [name, ...to] of [[cid, 'web by CID'], ['web', '-o', 'web by tag']]) {
      expect(await folder.run(['get', ...args, '-r', name, ...to])).to.include({ code: 0, out: '', err: '' })
      expect(await filesBelow(folder.at(to.at(-1)))).to.deep.equal(await filesBelow(folder.at('web')))
    }
    expect(await folder.run(['diff', ...args, cid, 'web'])).to.include({ code: 0, out: '', err: '' })
    const none = await folder.run(['get', ...args, 'web/none'])
    const message = "baobox: the manifest web has no '/none': 'baobox ls' lists its paths\n"
    expect([none.code, none.err]).to.deep.equal([1, message])
    const below = await folder.run(['add', ...args, '-r', '--manifest', 'web', '--top', 'a', '--json'])
    expect((await folder.run(['cat', ...args, `${JSON.parse(below.out).cid}/a/data`])).out).to.equal('x')
  })

  it('ls and cat take a manifest whose blobs are named by another hash function', async () => {
    const store = await BlobStore.open(folder.at('sites'))
    const src = CID.createV1(0x55, await sha256.digest(bytesOf('page')))
    const { cid: alone } = await store.put(Manifest.from([['/page', { src }]]).toBytes())
    await asBlockstore(store).put(src, bytesOf('page'))
    const { cid } = await store.put(Manifest.from([['/page', { src }], ['/gone', { src: cidGone }]]).toBytes())
    await store.close()
    const args = ['--store', 'sites']
    for (const name of [alone, cid]) {
      expect(await folder.run(['cat', ...args, `${name}/page`])).to.include({ code: 0, out: 'page' })
    }
    const { out } = await folder.run(['ls', ...args, '--long', '--bytes', `${cid}`])
    expect(out.split('\n').map(line => line.split(/ +/)).sort()).to.deep.equal([
      [''], [`${cidGone}`, '?', '/gone'], [`${src}`, '4', '/page']
    ].sort())
    const gone = await folder.run(['cat', ...args, `${cid}/gone`])
    expect([gone.code, gone.err]).to.deep.equal([1, `baobox: the store has no blob ${cidGone}\n`])
  })

  describe('say what is missing of a folder', () => {
    const raw = `${toCid(CID.parse(cid).multihash.digest)}`
    const [gone, part] = [`${toCid(hash(bytesOf('two')))}`, `${toCid(hash(long))}`]
    const run = (...args) => folder.run([...args, '--store', 'gaps'])
    before(async () => {
      await run('add', '-r', 'site', '--tag', 'site')
      await run('rm', 'site/site/sub/b.txt')
      await run('rm', part)
      const bytes = sliceOf(long, { start: 0, end: 16384 })
      await folder.run(['receive', part, '--end', '16384', '--store', 'gaps'], { input: bytes })
    })

    it('has -r and missing -r look at the members, too', async () => {
      expect(await run('has', 'site')).to.include({ code: 0, out: 'site  complete\n' })
      for (const name of ['site', cid, raw]) {
        expect(await run('has', '-r', name)).to.include({ code: 1, out: `${name}  partial\n`, err: '' })
        expect(await run('missing', '-r', name)).to.include({
          code: 0, out: `${part}  partial  site/long\n${gone}  absent   site/sub/b.txt\n`, err: ''
        })
      }
      const [first] = (await run('missing', '-r', 'site', '--json')).out.split('\n')
      expect(JSON.parse(first)).to.deep.equal({ cid: part, name: 'site/long', state: 'partial' })
      expect(JSON.parse((await run('has', '-r', 'site', '--json')).out))
        .to.deep.equal({ name: 'site', cid, state: 'partial' })
      const absent = `${toCid(hash(bytesOf('nothing')))}`
      expect(await run('has', '-r', absent)).to.include({ code: 1, out: `${absent}  absent\n` })
      expect(await run('missing', '-r', absent)).to.include({ code: 0, out: `${absent}  absent\n` })
      expect((await run('has', '-r', part)).out).to.equal(`${part}  partial\n`)
      const blob = await run('has', '-r', `${toCid(hash(bytesOf('one')))}`)
      expect(blob.code).to.equal(1)
      expect(blob.err).to.match(/^baobox: COLLECTION_INVALID: .*: leave out --recursive if/)
      expect(await folder.run(['has', '-r', 'site'])).to.include({ code: 0, out: 'site  complete\n' })
      expect(await folder.run(['missing', '-r', 'site'])).to.include({ code: 0, out: '' })
      expect((await run('missing', '-r', 'site', '--start', '1')).code).to.equal(2)
    })

    it('and every command shows one CID of a folder, also in errors, and when it is absent', async () => {
      const kept = await run('rm', 'site')
      expect([kept.code, kept.err.startsWith(`baobox: STORE_TAGGED: ${cid} is kept`)]).to.deep.equal([1, true])
      expect(JSON.parse((await run('rm', 'site', '--json')).err).error).to.include({ code: 'STORE_TAGGED', cid })
      await run('tag', 'absent', `${toCid(hash(bytesOf('absent')))}`, '--hashseq')
      const absent = `${toCid(hash(bytesOf('absent')), HASHSEQ)}`
      expect((await run('missing', '-r', 'absent')).out).to.equal(`${absent}  absent\n`)
      expect((await run('stat', 'absent')).err).to.equal(`baobox: STORE_NOT_FOUND: ${absent} is not in the store\n`)
    })

    it('stat says how many files and bytes a collection has, and how many members are missing', async () => {
      for (const name of ['site', cid, raw]) {
        const { out } = await run('stat', name, '--bytes')
        expect(out).to.match(new RegExp(`^CID +${cid}\n`))
        expect(out).to.match(/\nfiles +4, at least 2000008\nincomplete +1 absent, 1 partial\n/)
      }
      const { members } = JSON.parse((await run('stat', 'site', '--json')).out)
      expect(members).to.deep.equal({ files: 4, bytes: 2_000_008, absent: 1, partial: 1 })
      const whole = await folder.run(['stat', 'site', '--bytes'])
      expect(whole.out).to.match(/\nfiles +4, 2000011\nincomplete +none\n/)
      expect((await folder.run(['stat', `${cid}/site/a.txt`])).out).not.to.include('files')
    })

    it('one folder has one CID: add -r, stat, has, tag and ls print the same', async () => {
      for (const args of [['stat', raw], ['stat', 'site'], ['has', raw], ['has', 'site']]) {
        expect(JSON.parse((await folder.run([...args, '--json'])).out).cid, args.join(' ')).to.equal(cid)
      }
      const lines = (await folder.run(['ls'])).out.split('\n')
      expect(lines).to.include(cid).and.not.to.include(raw)
      for (const name of [cid, raw]) {
        await folder.run(['tag', 'again', name])
        expect((await folder.run(['tag'])).out).to.include(`${cid}  hashseq  "again"\n`)
        await folder.run(['tag', '--delete', 'again'])
      }
      const one = `${toCid(hash(bytesOf('one')))}`
      expect(JSON.parse((await folder.run(['stat', one, '--json'])).out).cid).to.equal(one)
    })

    it('stat of a manifest prints the CID that add printed, and counts its files', async () => {
      await mkdir(folder.at('pages'))
      await writeFiles(folder.at('pages'), { 'index.html': '<p>', a: 'a' })
      const { cid } = JSON.parse((await run('add', '-r', '--manifest', 'pages', '--tag', 'pages', '--json')).out)
      const stat = JSON.parse((await run('stat', cid, '--json')).out)
      expect([stat.cid, stat.members]).to.deep.equal([cid, { files: 2, bytes: 4, absent: 0, partial: 0 }])
      expect(JSON.parse((await run('stat', 'pages', '--json')).out).members)
        .to.deep.equal({ files: 2, bytes: 4, absent: 0, partial: 0 })
    })
  })

  it('diff prints the files that differ, and exits with 1 if there are any', async () => {
    expect(await folder.run(['diff', 'site', 'site'])).to.include({ code: 0, out: '', err: '' })
    await folder.run(['get', '-r', cid, 'changed'])
    await writeFiles(folder.at('changed', 'site'), { 'a.txt': 'ONE', new: '' })
    const options = ['--ignore', 'sub']
    const { code, out, err } = await folder.run(['diff', cid, 'changed/site', ...options])
    expect({ code, err }).to.deep.equal({ code: 1, err: '' })
    expect(out).to.equal('changed  site/a.txt\nadded    site/new\n')
    const lines = (await folder.run(['diff', cid, 'changed/site', '--json'])).out.trim().split('\n')
    expect(lines.map(line => JSON.parse(line)))
      .to.deep.equal([{ type: 'changed', name: 'site/a.txt' }, { type: 'added', name: 'site/new' }])
  })

  it('ls and diff do not let names control the terminal', async () => {
    const store = await BlobStore.open(folder.at('baobox'))
    const name = 'a\x1b[2J\nb\\c\u202edd\x9b\u2028é'
    const { cid } = await putCollection(store, [[name, hash(bytesOf('one'))]])
    await store.close()
    const shown = 'a\\x1b[2J\\x0ab\\\\c\\u202edd\\x9b\\u2028é'
    expect(entryText(name)).to.equal(shown)
    expect((await folder.run(['ls', `${cid}`])).out).to.equal(`${shown}\n`)
    expect((await folder.run(['diff', `${cid}`, 'other'])).out).to.equal(`removed  ${shown}\n`)
  })

  it('refuse arguments that do not fit together', async () => {
    for (const [args, message] of [
      [['add', '-r', '-'], '--recursive needs a folder'],
      [['add', 'site', '--ignore', 'x'], '--ignore needs --recursive'],
      [['add', 'site', '--manifest'], '--manifest needs --recursive'],
      [['add', '-r', 'site', '--ignore', ''], 'PATTERN must not be empty'],
      [['add', '-r', 'site', 'other', '--tag', 'x'], '--tag is for one FILE only'],
      [['add', '-r', 'site', 'other', '--known', 'x'], '--known is for one folder only'],
      [['get', '-r', cid], 'missing argument OUTPUT'],
      [['get', '-r', cid, '-'], 'a collection cannot be written to stdout'],
      [['get', '-r', cid, 'x', '-o', 'y'], 'OUTPUT excludes --output'],
      [['get', '-r', cid, 'x', '--start', '1'], '--recursive excludes --start'],
      [['get', cid, 'x', '--link'], '--link needs --recursive'],
      [['get', '-r', cid, 'x', '--link', '--reflink'], '--link excludes --reflink'],
      [['ls', cid, cid], 'unexpected argument'],
      [['diff', cid], 'missing argument DIR']
    ]) {
      const { code, err } = await folder.run(args)
      expect(code, args.join(' ')).to.equal(2)
      expect(err).to.include(message)
    }
    expect((await folder.run(['add', 'site'])).err).to.include('is a directory: a folder needs --recursive')
  })
})
