// Folders go from sendme to a store and back, by the commands that users type. run.js starts this file.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, readdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { BlobStore } from '../../../store/index.js'
import { importDirectory } from '../../../exchange/collections/node/index.js'
import { parseTicket, serveIroh } from '../../../exchange/iroh/index.js'
import { same } from '../../support/bytes.js'
import { noise } from '../../support/inputs.js'
import { closeEndpoints, openEndpoint } from '../../support/iroh.js'
import { ended, newFolder } from '../../support/program.js'

const SENDME = process.env.SENDME
const MIB = 1 << 20
/** At the edges of chunks and groups, with and without a tree. Names sort by bytes. */
const FILES = {
  empty: noise(0),
  a: noise(1),
  'sub/b': noise(1024, 2),
  'sub/c': noise(16_384, 3),
  'sub/deep/d': noise(16_385, 4),
  'ä and more': noise(1_000_003, 5),
  ...Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`many/${i}`, noise(1000 + i, 10 + i)])),
  'sub/large': noise(24 * MIB, 6)
}
const LEN = Object.values(FILES).reduce((sum, { length }) => sum + length, 0)
const COUNT = Object.keys(FILES).length

describe('stores and sendme', () => {
  const folder = newFolder()
  const children = []
  let cid

  before(async () => {
    for (const [name, bytes] of Object.entries(FILES)) {
      await mkdir(dirname(folder.at('tree', name)), { recursive: true })
      await folder.write(`tree/${name}`, bytes)
    }
    const { out } = await folder.run(['add', '-r', 'tree', '--tag', 'tree', '--json'])
    cid = JSON.parse(out).cid
  })
  afterEach(async () => {
    for (const child of children.splice(0)) child.kill('SIGKILL')
    await closeEndpoints()
  })

  const kept = child => {
    children.push(child)
    return child
  }
  /** Ends a process as a crash does. */
  const killed = async child => {
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  const sendme = async (args, cwd = folder.path) => {
    await mkdir(cwd, { recursive: true })
    return kept(spawn(SENDME, [args[0], '--relay', 'disabled', '--no-progress', ...args.slice(1)], { cwd }))
  }
  /** What a process prints, until it has printed what is looked for. */
  const printed = async (child, pattern) => {
    for (let text = ''; ;) {
      const found = pattern.exec(text)
      if (found !== null) return found
      text += (await once(child.stdout, 'data'))[0]
    }
  }
  const sending = async () => {
    const local = ['--ticket-type', 'addresses', '--magic-ipv4-addr', '127.0.0.1:0']
    const [ticket] = await printed(await sendme(['send', ...local, 'tree']), /\bblob[a-z2-7]{100,}(?=\s)/)
    return ticket
  }
  const receiving = async (ticket, name) => ended(await sendme(['receive', ticket], folder.at(name)))
  const serving = async () => {
    const child = kept(folder.start(['serve', '--port', '0', '--iroh', '--no-relays', '--json', '--ticket', 'tree']))
    const [, ticket] = await printed(child, /"ticket":"(\w+)"/)
    return { child, ticket }
  }
  const fetching = (ticket, store, ...args) =>
    kept(folder.start(['fetch', '-r', ticket, '--no-relays', '--store', store, '--tag', 'tree', '--json', ...args]))
  const recordsOf = out => out.trim().split('\n').map(line => JSON.parse(line))
  const expectFiles = async place => {
    for (const [name, bytes] of Object.entries(FILES)) {
      expect(same(new Uint8Array(await readFile(folder.at(place, 'tree', name))), bytes), name).to.equal(true)
    }
  }
  /** Bytes of all files below a folder, also while it changes. */
  const lenOf = async path => {
    const names = await readdir(path, { recursive: true }).catch(() => [])
    const stats = await Promise.all(names.map(name => stat(join(path, name)).catch(() => undefined)))
    return stats.reduce((sum, stats) => sum + (stats?.isFile() ? stats.size : 0), 0)
  }
  /** An endpoint whose answers have one wrong bit, at a byte of what it sends on a connection. */
  const lying = async at => {
    const endpoint = await openEndpoint()
    let sent = 0
    const spoiling = send => new Proxy(send, {
      get: (target, name) => name !== 'writeAll'
        ? bound(target, name)
        : bytes => {
          const wrong = at >= sent && at < sent + bytes.length
          const spoiled = wrong ? bytes.with(at - sent, bytes[at - sent] ^ 1) : bytes
          sent += bytes.length
          return target.writeAll(spoiled)
        }
    })
    const changed = (target, name, change) => new Proxy(target, {
      get: (target, other) => other === name
        ? async (...args) => change(await target[name](...args))
        : bound(target, other)
    })
    const onStream = ({ send, recv }) => ({ send: spoiling(send), recv })
    const onConnection = connection => changed(connection, 'acceptBi', onStream)
    const onAccepting = accepting => changed(accepting, 'connect', onConnection)
    return changed(endpoint, 'acceptNext', incoming => incoming && changed(incoming, 'accept', onAccepting))
  }
  const bound = (target, name) => typeof target[name] === 'function' ? target[name].bind(target) : target[name]

  it('a folder that sendme sends comes as it is, under the CID that it has here', async () => {
    const ticket = await sending()
    expect(`${parseTicket(ticket).cid}`).to.equal(cid)
    const { code, out, err } = await ended(fetching(ticket, 'one', '-o', 'fetched'))
    expect({ code, err }).to.deep.equal({ code: 0, err: '' })
    const records = recordsOf(out)
    expect(records.pop()).to.deep.include({ cid, complete: true, members: COUNT + 1 })
    expect(records).to.have.length(COUNT)
    await expectFiles('fetched')
  })

  it('sendme receives a folder that is served', async () => {
    const { ticket } = await serving()
    expect((await receiving(ticket, 'received')).code).to.equal(0)
    await expectFiles('received')
  })

  it('a download from sendme goes on after a kill', async () => {
    const ticket = await sending()
    const child = fetching(ticket, 'killed')
    const [text] = await printed(child, /^(.*\n){5}/)
    await killed(child)
    const again = recordsOf((await ended(fetching(ticket, 'killed', '-o', 'resumed'))).out)
    const { received } = again.pop()
    const news = new Map(again.map(({ name, received }) => [name, received]))
    for (const { name } of recordsOf(text)) expect(news.get(name), name).to.equal(0)
    expect(received).to.be.below(LEN)
    await expectFiles('resumed')
  })

  it('sendme goes on after an interrupt with what a store serves', async () => {
    const { child, ticket } = await serving()
    const place = folder.at('twice')
    const first = await sendme(['receive', ticket], place)
    while (first.exitCode === null && await lenOf(place) < 4 * MIB) await new Promise(resolve => setTimeout(resolve, 5))
    expect(first.exitCode).to.equal(null)
    first.kill('SIGINT') // after a SIGKILL, it begins again
    await once(first, 'exit')
    const events = ended(child)
    expect((await receiving(ticket, 'twice')).code).to.equal(0)
    await expectFiles('twice')
    child.kill('SIGINT')
    const sent = recordsOf((await events).out).filter(({ outcome }) => outcome === 'complete')
      .reduce((sum, { sent }) => sum + sent, 0)
    expect(sent).to.be.within(1, LEN - 2 * MIB)
  })

  it('sendme keeps no file of a peer that changes a bit', async () => {
    const store = await BlobStore.open(folder.at('liar'))
    const imported = await importDirectory(store, folder.at('tree'))
    const server = serveIroh(store, await lying(8 * MIB))
    const { code } = await receiving(server.ticket(imported.cid), 'lied to')
    expect(code).to.not.equal(0)
    expect((await readdir(folder.at('lied to'))).filter(name => !name.startsWith('.sendme-'))).to.deep.equal([])
    await server.close({ grace: 0 })
    await store.close()
  })

  it('a peer that changes a bit is dropped, and sendme brings the rest', async () => {
    const store = await BlobStore.open(folder.at('other liar'))
    const imported = await importDirectory(store, folder.at('tree'))
    const server = serveIroh(store, await lying(8 * MIB))
    const liar = server.ticket(imported.cid)
    const alone = await ended(fetching(liar, 'fooled', '-o', 'fooled files'))
    expect(alone.code).to.equal(1)
    expect(alone.err).to.match(/^baobox: FETCH_/)
    expect(await readdir(folder.path)).to.not.include('fooled files')
    const ticket = await sending()
    const { code, out } = await ended(fetching(liar, 'fooled', '-o', 'right', '--from', ticket))
    expect(code).to.equal(0)
    expect(recordsOf(out).pop()).to.include({ complete: true })
    await expectFiles('right')
    await server.close({ grace: 0 })
    await store.close()
  })
})
