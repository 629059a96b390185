// Where a site is published: a folder, or a bucket.

import { mkdir, readFile, realpath, stat } from 'node:fs/promises'
import { dirname, join, resolve, sep } from 'node:path'
import { replaceFile } from '#files'
import { s3 } from '../../../exchange/bucket/index.js'
import { UsageError } from '../../terminal/errors.js'
import { asUsage, bucketIn } from '../store/bucket-url.js'

/** @import { Bucket } from '../../../exchange/bucket/index.js' */

/**
 * @typedef {object} Target  names have `/` between their parts
 * @property {(name: string, file: Content) => Promise<boolean>} add  writes a file whose name says what is in it,
 *   unless there is one of this size. Returns true if it was written
 * @property {(name: string, text: string, type: string) => Promise<void>} replace  writes a file, with its media type
 */
/** @typedef {{ size: number, pieces: () => AsyncIterable<Uint8Array> }} Content */

/**
 * @param {string} out  a path, or `s3://BUCKET/PREFIX`
 * @param {{ source: string, endpoint?: string, region?: string }} options  `source`: the folder that is published
 * @returns {Promise<Target>}
 */
export async function targetOf (out, { source, endpoint, region }) {
  if (out.startsWith('s3:')) {
    const { name, prefix } = bucketIn(out)
    return bucketTarget(asUsage(() => s3({ bucket: name, prefix: prefix.replace(/\/+$/, ''), endpoint, region })))
  }
  if (endpoint !== undefined || region !== undefined) throw new UsageError('--endpoint and --region are for buckets')
  const published = await realpath(source)
  await mkdir(out, { recursive: true })
  const isInside = `${await realpath(out)}${sep}`.startsWith(`${published}${sep}`)
  if (isInside) throw new UsageError(`--out '${out}' is in the folder that is published`)
  return folderTarget(resolve(out))
}

/** @param {string} folder @returns {Target} */
function folderTarget (folder) {
  const pathOf = async (/** @type {string} */ name) => {
    const path = join(folder, name)
    await mkdir(dirname(path), { recursive: true })
    return path
  }
  return {
    async add (name, { size, pieces }) {
      const path = await pathOf(name)
      const found = await stat(path).catch(ifAbsent)
      if (found?.isFile() && found.size === size) return false
      await replaceFile(path, pieces())
      return true
    },
    async replace (name, text) {
      const path = await pathOf(name)
      const found = await readFile(path, 'utf8').catch(ifAbsent)
      if (found !== text) await replaceFile(path, [new TextEncoder().encode(text)])
    }
  }
}

/** @param {NodeJS.ErrnoException} error @returns {undefined} */
function ifAbsent (error) {
  if (error.code !== 'ENOENT') throw error
  return undefined
}

/** @param {Bucket} bucket @returns {Target} */
function bucketTarget (bucket) {
  return {
    async add (name, { size, pieces }) {
      const found = await bucket.head(name)
      if (found?.size === size) return false
      await bucket.putParts(name, pieces(), { size })
      return true
    },
    async replace (name, text, type) {
      await bucket.put(name, new TextEncoder().encode(text), { type })
    }
  }
}
