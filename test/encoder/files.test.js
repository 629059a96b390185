// A file gives what its bytes give, by path, by URL, and as a stream of Node.js.
import { createReadStream } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { BYTES, describeRandomAccess, describeSequences } from './source-suite.js'

describe('files as sources', () => {
  let folder
  let path
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'baobox-'))
    path = join(folder, 'blob')
    await writeFile(path, BYTES)
  })
  after(() => rm(folder, { recursive: true }))

  const FILES = {
    'a path': () => path,
    'a file URL': () => pathToFileURL(path)
  }
  describeSequences({ ...FILES, 'a Node stream': () => createReadStream(path) })
  describeRandomAccess(FILES)
})
