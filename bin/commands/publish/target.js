// Where a site is published: a folder, or a bucket.

import { mkdir, readFile, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve, sep } from 'node:path'
import { replaceFile } from '#files'
import { s3 } from '../../../exchange/bucket/index.js'
import { UsageError } from '../../terminal/errors.js'
import { asUsage, bucketIn } from '../store/bucket-url.js'

/** @import { Bucket } from '../../../exchange/bucket/index.js' */

/**
 * @typedef {object} Target  names have `/` between their parts
 * @property {(name: string, file: Content, signal: AbortSignal) => Promise<boolean>} add  writes a file whose name says
 *   what is in it, unless there is one of this size. Returns true if it was written
 * @property {number} parallel  how many calls of `add` may run at the same time
 * @property {(name: string, file: { text: string, type: string }, signal: AbortSignal) => Promise<void>} replace
 *   writes a file, with its media type
 */
/** @typedef {{ size: number, pieces: () => AsyncIterable<Uint8Array> }} Content */

/** Each call may hold several parts of 8 MiB. */
const PARALLEL = 8

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
  const isInside = `${await realPathOf(resolve(out))}${sep}`.startsWith(`${published}${sep}`)
  if (isInside) throw new UsageError(`--out '${out}' is in the folder that is published`)
  return folderTarget(resolve(out))
}

/**
 * Returns the real path of a folder, or the one that it will have when it is made.
 *
 * @param {string} path  absolute @returns {Promise<string>}
 */
async function realPathOf (path) {
  return await realpath(path).catch(ifAbsent) ?? join(await realPathOf(dirname(path)), basename(path))
}

/** @param {string} folder @returns {Target} */
function folderTarget (folder) {
  const pathOf = async (/** @type {string} */ name) => {
    const path = join(folder, name)
    await mkdir(dirname(path), { recursive: true })
    return path
  }
  return {
    parallel: 1,
    async add (name, { size, pieces }) {
      const path = await pathOf(name)
      const found = await stat(path).catch(ifAbsent)
      if (found?.isFile() && found.size === size) return false
      await replaceFile(path, pieces())
      return true
    },
    async replace (name, { text }) {
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
    parallel: PARALLEL,
    async add (name, { size, pieces }, signal) {
      const found = await bucket.head(name, { signal })
      if (found?.size === size) return false
      await bucket.putParts(name, pieces(), { size, signal })
      return true
    },
    async replace (name, { text, type }, signal) {
      await bucket.put(name, new TextEncoder().encode(text), { type, signal })
    }
  }
}
