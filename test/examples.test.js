// Runs the programs in examples/ unchanged. That of Helia has a test of its own, test/helia/helia.js.

import { expect } from 'chai'
import { execFile, spawn } from 'node:child_process'
import { appendFile, copyFile, mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { hash, toCid } from '../lib/index.js'
import { newProject } from './support/project.js'

const EXAMPLES = fileURLToPath(new URL('../examples/', import.meta.url))
const MAX_LINES = 50

describe('examples', () => {
  const content = Uint8Array.from({ length: 300_000 }, (_, i) => i % 251)
  const cid = `${toCid(hash(content))}`
  let project
  before(async () => {
    project = await newProject()
    for (const name of await readdir(EXAMPLES)) await copyFile(join(EXAMPLES, name), join(project, name))
    await writeFile(join(project, 'file'), content)
  })
  after(() => rm(project, { recursive: true }))

  const run = (...args) => promisify(execFile)(process.execPath, args, { cwd: project, encoding: 'buffer' })
  const linesOf = async (...args) => String((await run(...args)).stdout).trimEnd().split('\n')

  /** A running serve-file.js. @param {(server: { url: string, cid: string }) => Promise<void>} work */
  async function withServer (work) {
    const stdio = ['ignore', 'pipe', 'inherit']
    const server = spawn(process.execPath, ['serve-file.js', 'file'], { cwd: project, stdio })
    try {
      const [line] = await once(server.stdout, 'data')
      const [url, cid] = String(line).trim().split(' ')
      await work({ url, cid })
    } finally {
      server.kill()
      await once(server, 'exit')
    }
  }

  it('are short, begin with a comment, and are listed', async () => {
    const list = await readFile(join(EXAMPLES, 'README.md'), 'utf8')
    for (const name of (await readdir(EXAMPLES)).filter(name => name !== 'README.md')) {
      const lines = (await readFile(join(EXAMPLES, name), 'utf8')).trimEnd().split('\n')
      expect(lines.length, name).to.be.at.most(MAX_LINES)
      if (name.endsWith('.js')) expect(lines[0], name).to.match(/^\/\/ \S.*/)
      expect(list).to.include(`(${name})`)
    }
  })

  it('cid.js prints hash and CID', async () => {
    const root = Buffer.from(hash(content)).toString('hex')
    expect(await linesOf('cid.js', 'file')).to.deep.equal([`hash  ${root}`, `cid   ${cid}`])
  })

  it('store-and-get.js keeps the blob with a tag', async () => {
    const lines = await linesOf('store-and-get.js', 'file')
    expect(lines[0]).to.equal(`${cid}: 300000 bytes, new`)
    expect(lines[2]).to.equal(`tag 'my file': ${cid}`)
    expect(lines[3]).to.include('deleted 1 blob, 17 bytes')
    expect(lines[4]).to.match(/ is gone$/)
  })

  it('verify-download.js gets the file that serve-file.js serves', () => withServer(async ({ url, cid: served }) => {
    expect(served).to.equal(cid)
    expect(new Uint8Array((await run('verify-download.js', url, cid)).stdout)).to.deep.equal(content)
    const { stdout } = await run('verify-download.js', url, cid, '100000', '100010')
    expect(new Uint8Array(stdout)).to.deep.equal(content.subarray(100_000, 100_010))
  }))

  it('verify-download.js fails when the server has another file', () => withServer(async ({ url }) => {
    const error = await run('verify-download.js', url, `${toCid(hash(new Uint8Array(1)))}`).catch(error => error)
    expect(error.code).to.equal(1)
    expect(String(error.stderr)).to.match(/^BAO_\w+_MISMATCH: /)
    expect(error.stdout.length).to.equal(0)
  }))

  it('resume-download.js asks the next server, and asks for nothing twice', () => withServer(async ({ url }) => {
    const args = ['resume-download.js', cid, 'downloads', 'http://localhost:1/', url]
    const first = await linesOf(...args)
    expect(first).to.deep.equal([`${url}: 300000 new bytes`, `${cid} is complete, 300000 bytes of it are new`])
    expect(await linesOf(...args)).to.deep.equal([`${cid} is complete, 0 bytes of it are new`])
  }))

  it('share-folder.js puts a folder into a store, writes it elsewhere, and prints the changes', async () => {
    await mkdir(join(project, 'folder', 'inner'), { recursive: true })
    await writeFile(join(project, 'folder', 'a'), content)
    await writeFile(join(project, 'folder', 'inner', 'b'), 'b')
    const [line, ...others] = await linesOf('share-folder.js', 'folder')
    expect(line).to.match(/^bagaac\w+: 2 files, 300001 bytes$/)
    expect(others).to.deep.equal([])
    const [folder] = line.split(':')
    expect(await linesOf('share-folder.js', folder, 'copy')).to.deep.equal(['folder/a', 'folder/inner/b'])
    expect(new Uint8Array(await readFile(join(project, 'copy', 'folder', 'a')))).to.deep.equal(content)
    await writeFile(join(project, 'folder', 'inner', 'b'), 'c')
    const changed = await linesOf('share-folder.js', 'folder')
    expect(changed[0]).to.equal('changed folder/inner/b')
    expect(changed).to.have.length(2)
  })

  it('static-site.js serves a folder under one CID, with which another store can download it', async () => {
    await mkdir(join(project, 'site', 'styles'), { recursive: true })
    await writeFile(join(project, 'site', 'index.html'), '<link href="styles/main.css" rel="stylesheet">')
    await writeFile(join(project, 'site', 'styles', 'main.css'), 'p {}')
    const server = spawn(process.execPath, ['static-site.js', 'site'], {
      cwd: project, stdio: ['ignore', 'pipe', 'inherit']
    })
    let text = ''
    try {
      for await (const part of server.stdout) if ((text += part).includes('brings all of it')) break
      const [url, line] = text.trim().split('\n')
      const page = await fetch(url)
      expect(page.headers.get('content-type')).to.equal('text/html; charset=utf-8')
      const [, href] = /href="(.*?)"/.exec(await page.text())
      expect(await (await fetch(new URL(href, url))).text()).to.equal('p {}')
      const [, sequence] = /download\(store, '(\w+)'/.exec(line)
      await writeFile(join(project, 'bring.js'), `
        import { download } from 'baobox/download'
        import { BlobStore } from 'baobox/store'
        const store = await BlobStore.open('brought')
        const from = ['${new URL('/', url)}blobs/{cid}']
        console.log((await download(store, '${sequence}', { from, recursive: true })).members)
        await store.close()
      `)
      expect(await linesOf('bring.js')).to.deep.equal(['3'])
    } finally {
      server.kill()
      if (server.exitCode === null) await once(server, 'exit')
    }
  })

  it('append-log.js hashes only the new bytes', async () => {
    const log = join(project, 'log')
    await writeFile(log, content)
    expect(await linesOf('append-log.js', 'log')).to.deep.equal([`300000 bytes, all of them new: ${cid}`])
    await appendFile(log, content)
    const grown = toCid(hash(new Uint8Array([...content, ...content])))
    expect(await linesOf('append-log.js', 'log')).to.deep.equal([`600000 bytes, 300000 of them new: ${grown}`])
  })

  it('quota-cache.js keeps the most recently used blobs', async () => {
    const lines = await linesOf('quota-cache.js')
    expect(lines.filter(line => line.endsWith('kept'))).to.deep.equal(['blob 0: kept', 'blob 8: kept', 'blob 9: kept'])
  })

  it('service-worker.js answers the requests of a page below its path', async () => {
    await mkdir(join(project, 'worker'))
    await copyFile(join(EXAMPLES, 'service-worker.js'), join(project, 'worker', 'service-worker.js'))
    await writeFile(join(project, 'worker', 'run.js'), `
      let listener
      globalThis.location = { origin: 'http://page.test' }
      globalThis.addEventListener = (_, given) => { listener = given }
      await import('./service-worker.js')
      for (const url of ['http://page.test/baobox/blobs', 'http://page.test/', 'http://other.test/baobox/blobs']) {
        let answer
        listener({ request: new Request(url), respondWith (given) { answer = given } })
        console.log(answer === undefined ? 'the network' : await (await answer).text())
      }
      process.exit()`)
    const lines = await linesOf('worker/run.js')
    const [list, ...others] = lines.filter(line => line !== '')
    expect(JSON.parse(list).blobs).to.be.an('array')
    expect(others).to.deep.equal(['the network', 'the network'])
  })

  it('browser.js keeps the chosen files', async () => {
    await mkdir(join(project, 'page'))
    await build({
      entryPoints: [join(project, 'browser.js')],
      bundle: true,
      format: 'esm',
      platform: 'node',
      external: ['baobox'],
      outfile: join(project, 'page', 'bundle.js'),
      packages: 'external',
      logLevel: 'error'
    })
    await writeFile(join(project, 'page', 'run.js'), `
      const elements = {
        '#files': {
          files: [new File(['Hello'], 'a')],
          addEventListener (_, listener) { this.choose = listener }
        },
        '#output': { textContent: '' }
      }
      globalThis.document = { querySelector: name => elements[name] }
      await import('./bundle.js')
      await elements['#files'].choose()
      console.log(elements['#output'].textContent)
      process.exit()`)
    const lines = await linesOf('page/run.js')
    expect(lines[0]).to.equal(`a: ${toCid(hash(new TextEncoder().encode('Hello')))}`)
    expect(lines[1]).to.equal('  begins with 48 65 6c 6c 6f')
  })
})
