import { expect } from 'chai'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { leaveAddress, readAddress } from '../../../../bin/commands/owner/address.js'
import { ownerOf } from '../../../../bin/commands/owner/ask.js'
import { newFolder } from '../../../support/program.js'

const TOKEN = 'a1'.repeat(32)
const GOOD = { port: 4700, token: TOKEN, pid: 1 }

describe('the address of the process that has a store open', () => {
  const folder = newFolder()
  const path = () => folder.at('serve.json')
  const { signal } = new AbortController()
  afterEach(() => rm(path(), { recursive: true, force: true }))

  it('is the last one that was written', async () => {
    expect(await readAddress(folder.path)).to.equal(undefined)
    await leaveAddress(folder.path, GOOD)
    await leaveAddress(folder.path, { ...GOOD, pid: 2 })
    expect(await readAddress(folder.path)).to.deep.equal({ ...GOOD, pid: 2 })
  })

  it('is not read from an invalid file', async () => {
    for (const text of ['', 'null', '[]', '7', '{', JSON.stringify(GOOD).slice(0, -1), `${' '.repeat(1 << 20)}{}`, ...[
      { port: 0 }, { port: 65_536 }, { port: '4700' }, { port: 1.5 }, { port: null }, { token: '' }, { token: [TOKEN] },
      { token: 'x'.repeat(64) }, { token: `${TOKEN}\r\nx: y` }, { pid: 0 }, { pid: -1 }, { pid: 'x' }, { pid: 2 ** 40 }
    ].map(wrong => JSON.stringify({ ...GOOD, ...wrong }))]) {
      await writeFile(path(), text)
      expect(await readAddress(folder.path), text.slice(0, 99)).to.equal(undefined)
    }
  })

  it('is not read through a link, from a folder, or from a pipe', async function () {
    await mkdir(path())
    expect(await readAddress(folder.path)).to.equal(undefined)
    if (process.platform === 'win32') return this.skip()
    await rm(path(), { recursive: true })
    await writeFile(folder.at('elsewhere'), JSON.stringify(GOOD))
    await symlink(folder.at('elsewhere'), path())
    expect(await readAddress(folder.path)).to.equal(undefined)
    await rm(path())
    execFileSync('mkfifo', [path()])
    expect(await readAddress(folder.path)).to.equal(undefined)
  })

  it('gets the token only after it has proven that it knows the token', async () => {
    const requests = []
    const answers = ['', 'f'.repeat(64), TOKEN]
    const server = createServer((request, response) => {
      requests.push(request)
      if (requests.length > answers.length) return response.destroy()
      response.end(answers[requests.length - 1])
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address()
    await leaveAddress(folder.path, { ...GOOD, port })
    expect(await ownerOf(folder.path, 2, signal)).to.equal(undefined)
    expect(requests.length).to.equal(0) // according to the system, another process has the store open
    for (let i = 0; i <= answers.length; i++) expect(await ownerOf(folder.path, 1, signal)).to.equal(undefined)
    for (const { url, headers } of requests) {
      expect(JSON.stringify([url, headers])).not.to.contain(TOKEN)
    }
    expect(requests.length).to.equal(answers.length + 1)
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
    expect(await ownerOf(folder.path, undefined, signal)).to.equal(undefined)
  })
})
