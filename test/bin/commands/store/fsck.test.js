import { readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { hash, toCid } from '../../../../lib/index.js'
import { flipped } from '../../../support/bytes.js'
import { noise } from '../../../support/inputs.js'
import { newFolder } from '../../../support/program.js'

const bytes = noise(3_000_000)
const cid = `${toCid(hash(bytes))}`

describe('baobox fsck, rescue', () => {
  const folder = newFolder()
  before(async () => {
    await folder.write('a', bytes)
    await folder.run(['add', 'a'])
  })

  it('prints damaged blobs, and repairs them with --repair', async () => {
    expect(await folder.run(['fsck'])).to.include({ code: 0, out: '1 blob checked\n', err: '' })
    const files = folder.at('baobox', 'blobs')
    const [name] = await readdir(files)
    await writeFile(join(files, name), flipped(await readFile(join(files, name)), 100_000))
    const lines = `${cid}  damaged, 16.00 KiB of 2.86 MiB must be fetched again\n1 blob checked\n`
    const found = await folder.run(['fsck'])
    expect(found).to.include({ code: 1, out: lines })
    expect(found.err).to.match(/--repair/)
    expect(await folder.run(['fsck', '--repair'])).to.include({ code: 0, out: lines, err: '' })
    expect(await folder.run(['fsck'])).to.include({ code: 0, out: '1 blob checked\n', err: '' })
    expect(await folder.run(['add', 'a'])).to.include({ code: 0 })
    expect((await folder.run(['get', cid])).code).to.equal(0)
  })

  it('rescues a store that has lost the file CURRENT', async () => {
    await rm(folder.at('baobox', 'index', 'CURRENT'))
    const refused = await folder.run(['get', cid])
    expect(refused.code).to.equal(1)
    expect(refused.err).to.match(/STORE_OPEN_FAILED.*: run 'baobox rescue'\n$/)
    expect(await folder.run(['rescue'])).to.include({ code: 0 })
    const got = await folder.run(['get', cid])
    expect(got.code).to.equal(0)
    expect(got.bytes.length).to.equal(bytes.length)
  })

  it('prints how many bytes could not be read', async () => {
    await folder.write('b', noise(1000))
    await folder.run(['add', 'b'])
    const index = folder.at('baobox', 'index')
    for (const name of await readdir(index)) {
      const path = join(index, name)
      if (name.endsWith('.log')) await truncate(path, (await readFile(path)).length - 1)
    }
    const refused = await folder.run(['fsck'])
    expect(refused.code).to.equal(1)
    expect(refused.err).to.match(/STORE_CORRUPT: .*index\/\d+\.log.*: run 'baobox rescue'\n$/)
    const { code, out } = await folder.run(['rescue'])
    expect(code).to.equal(0)
    expect(out).to.match(/ of the databases could not be read\n/)
    expect(await folder.run(['fsck'])).to.include({ code: 0 })
  })

  it('fails if there is no store', async () => {
    expect((await folder.run(['fsck', '--store', 'nowhere'])).err).to.match(/there is no store at nowhere/)
    const rescued = await folder.run(['rescue', '--store', 'nowhere'])
    expect(rescued.err).to.match(/the store at nowhere: .*: check the path\n$/)
  })
})
