// A killed download to a file may leave folders beside the file. The next one removes them.
import { expect } from 'chai'
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { newLocation, removeLocation } from '#runtime'
import { createOutboardSync } from '../../../encoder/index.js'
import { downloadFile } from '../../../exchange/download/index.js'
import { PartFolder } from '../../../exchange/download/part-folder.node.js'
import { same } from '../../support/bytes.js'
import { atEffort } from '../../support/effort.js'
import { errorOf } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'

const content = noise(100_000, 473)
const outboard = createOutboardSync(content)
const { cid } = outboard
/** No process has this id. */
const DEAD = 2 ** 30

describe('a folder that a killed download to a file has left', () => {
  let folder
  let path
  beforeEach(async () => {
    folder = await newLocation()
    await mkdir(folder, { recursive: true })
    path = join(folder, 'movie.mp4')
  })
  afterEach(() => removeLocation(folder))

  /** Leaves a folder that was being made or removed for a file. */
  async function leave (file) {
    const left = new PartFolder(file).spareName(DEAD)
    await mkdir(join(left, 'blobs'), { recursive: true })
    await writeFile(join(left, 'blobs', '1'), content)
  }

  it('is removed by the next download to the same file, and nothing else is', async () => {
    await leave(path)
    await leave(path)
    await leave(join(folder, 'other.mp4'))
    await mkdir(join(folder, '.baobox-mine'))
    const others = (await readdir(folder)).filter(name => !name.startsWith(nameOf(path)))
    await downloadFile(cid, path, { from: [{ source: content, outboard }] })
    expect(await readdir(folder)).to.have.members([...others, 'movie.mp4'])
    expect(others).to.have.length(2)
  })

  it('is not used by downloads that begin while another one removes it', async () => {
    for (let round = 0; round < atEffort(10); round++) {
      const file = `${path}${round}`
      const one = async () => {
        for (;;) {
          try {
            return await downloadFile(cid, file, { from: [{ source: content, outboard }] })
          } catch (error) {
            if (error.code !== 'STORE_LOCKED') throw error
            await new Promise(resolve => setTimeout(resolve, 1))
          }
        }
      }
      const results = await Promise.all([one(), one(), one()])
      expect(results.filter(({ received }) => received > 0), `${round}`).to.have.length(1)
      expect(same(await readFile(file), content)).to.equal(true)
      expect((await readdir(folder)).filter(name => name.includes('part') || name.startsWith('.'))).to.deep.equal([])
    }
  })

  it('is removed by a download that fails, too', async () => {
    await leave(path)
    const error = await errorOf(downloadFile(cid, path, { from: [() => { throw new Error('no') }], retries: 0 }))
    expect(error.code).to.equal('FETCH_EXHAUSTED')
    expect(await readdir(folder)).to.deep.equal([])
  })

  /** The beginning of the names of these folders for a file. */
  const nameOf = file => new PartFolder(file).spareName(0).slice(folder.length + 1, -38)
})
