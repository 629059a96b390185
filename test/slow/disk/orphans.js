// A look at what a closed store has on its disk.
import { readdir } from 'node:fs/promises'
import { Level } from 'level'
import { idsIn, recordsIn } from '../../support/stores.js'

const VIEWS = { keyEncoding: 'view', valueEncoding: 'view' }

/** Data that no record names, and files that records name and that are not there. @param {string} location @returns {Promise<string[]>} */
export async function orphansIn (location) {
  const [index, data] = ['index', 'data'].map(name => new Level(`${location}/${name}`, VIEWS))
  await Promise.all([index.open(), data.open()])
  try {
    const records = await recordsIn(index)
    const named = new Set(records.map(({ id }) => id))
    const inFiles = new Set(records.filter(({ home }) => home === 'file').map(({ id }) => id))
    const files = (await readdir(`${location}/blobs`)).map(Number)
    return [
      ...(await idsIn(data)).filter(id => !named.has(id)).map(id => `data under ${id}`),
      ...files.filter(id => !inFiles.has(id)).map(id => `the file ${id}`),
      ...[...inFiles].filter(id => !files.includes(id)).map(id => `no file ${id}`)
    ]
  } finally {
    await Promise.all([index.close(), data.close()])
  }
}
