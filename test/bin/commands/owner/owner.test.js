// Commands on a store that a server has open, with real processes.
import { expect } from 'chai'
import { once } from 'node:events'
import { existsSync, statSync } from 'node:fs'
import { encodeSliceSync, createOutboardSync } from '../../../../encoder/index.js'
import { hash, toCid } from '../../../../lib/index.js'
import { BlobStore } from '../../../../store/index.js'
import { noise } from '../../../support/inputs.js'
import { newFolder } from '../../../support/program.js'

const ONE = noise(100_000, 31)
const TWO = noise(3_000_000, 32)
const cidOf = bytes => `${toCid(hash(bytes))}`

describe('a store that a server has open', function () {
  this.timeout(60_000)
  const folder = newFolder()
  const address = () => folder.at('baobox', 'serve.json')
  let server
  before(async () => {
    await folder.write('one', ONE)
    await folder.write('two', TWO)
    await folder.write('slice', encodeSliceSync(ONE, createOutboardSync(ONE), { start: 0, end: 50_000 }))
    await (await BlobStore.open(folder.at('baobox'))).close()
    server = folder.start(['serve', '--socket', 'socket', '--quiet'])
    await once(server.stdout, 'data')
  })
  after(() => server.kill('SIGKILL'))

  const run = async (args, options) => {
    const { code, out, err } = await folder.run(args, options)
    const [line, ...errors] = err.split('\n')
    expect(line, args.join(' ')).to.equal(
      `baobox: the store at ${folder.at('baobox')} is open in process ${server.pid}, which does this now`)
    return { code, out, err: errors.join('\n') }
  }

  it('is changed through the server, which says where it is in a file for the user alone', async () => {
    if (process.platform !== 'win32') expect(statSync(address()).mode & 0o777).to.equal(0o600)
    const added = await run(['add', '--json', '--tag', 'two', '-'], { input: TWO })
    expect(JSON.parse(added.out)).to.deep.equal({ name: '-', cid: cidOf(TWO), size: TWO.length, isNew: true })
    const received = await run(['receive', '--json', cidOf(ONE), 'slice', '--end', '50000'])
    expect(JSON.parse(received.out)).to.deep.include({ received: 49_152, complete: false })
    await run(['tag', 'second', 'two'])
    const { out, err } = await folder.run(['tag', '--json'])
    expect(err).to.contain('reading it as it is now')
    expect(out.trim().split('\n').map(line => JSON.parse(line).name)).to.deep.equal(['second', 'two'])
    const [gone] = (await run(['gc', '--json'])).out.split('\n')
    expect(JSON.parse(gone)).to.deep.equal({ cid: cidOf(ONE), bytes: 49_152 })
    expect(await run(['tag', '--delete', 'two'])).to.include({ code: 0 })
  })

  it('has the errors that the store itself has', async () => {
    const { code, err } = await run(['add', '--expect', cidOf(TWO.subarray(1)), 'two'])
    expect([code, err]).to.deep.equal([1,
      `baobox: CID_MISMATCH: the bytes do not have the hash in ${cidOf(TWO.subarray(1))}: they are ${cidOf(TWO)}\n`])
    expect(await run(['rm', 'one'])).to.deep.equal({
      code: 1, out: '', err: "baobox: 'one' is neither a CID nor a tag of the store\n"
    })
    const other = await folder.run(['compact'])
    expect([other.code, other.err]).to.satisfy(([code, err]) => code === 1 && err.startsWith('baobox: STORE_LOCKED'))
  })

  it('keeps nothing of a blob whose sender is killed', async () => {
    const adding = folder.start(['add', '-'])
    adding.stdin.write(ONE)
    await once(adding.stderr, 'data') // the server has been found
    adding.kill('SIGKILL')
    await once(adding, 'close')
    expect((await folder.run(['has', cidOf(ONE)])).out).to.equal(`${cidOf(ONE)}  absent\n`)
  })

  it('is used directly when the server is gone, whatever it has left behind', async () => {
    server.kill('SIGKILL')
    await once(server, 'exit')
    expect(existsSync(address())).to.equal(true)
    const { code, err } = await folder.run(['add', 'one', '--wait', '--expect', cidOf(ONE)])
    expect([code, err]).to.deep.equal([0, ''])
    expect(existsSync(address())).to.equal(false)
    const { out } = await folder.run(['ls', '--order', 'created', '--reverse', '--limit', '1', '--read-only'])
    expect(out).to.equal(`${cidOf(ONE)}\n`)
  })
})
