// A killed download to a file may leave folders beside the file. The next one removes them.
import { expect } from 'chai'
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { newLocation, removeLocation } from '#runtime'
import { createOutboardSync } from '../../../encoder/index.js'
import { downloadFile } from '../../../exchange/download/index.js'
import { PartFolder } from '../../../exchange/download/part-folder.node.js'
import { errorOf } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'

const content = noise(100_000, 473)
const outboard = createOutboardSync(content)
const { cid } = outboard

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
    const left = new PartFolder(file).spareName()
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

  it('has its mark again when another download removes it before the store in it is opened', async () => {
    const part = new PartFolder(path)
    await part.prepare()
    await rm(part.path, { recursive: true })
    await mkdir(join(part.path, 'index'), { recursive: true }) // as the opening does
    await part.markAgain()
    await part.remove()
    expect(await readdir(folder)).to.deep.equal([])
  })

  it('is removed by a download that fails, too', async () => {
    await leave(path)
    const error = await errorOf(downloadFile(cid, path, { from: [() => { throw new Error('no') }], retries: 0 }))
    expect(error.code).to.equal('FETCH_EXHAUSTED')
    expect(await readdir(folder)).to.deep.equal([])
  })

  /** The beginning of the names of these folders for a file. */
  const nameOf = file => new PartFolder(file).spareName().slice(folder.length + 1, -36)
})
