// Opens a store in a bucket, for `--store s3://BUCKET/PREFIX`. Its local store is in a folder for caches.

import { createHash } from 'node:crypto'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { Failure } from '../../terminal/errors.js'
import { asUsage, bucketIn } from './bucket-url.js'

/** @import { BucketStore } from '../../../exchange/bucket/index.js' */
/** @import { Context } from '../../types.js' */

/** @typedef {{ endpoint?: string, region?: string, cache?: string, 'cache-quota'?: number }} BucketValues */

/** How many processes of a user can have a store open without --cache. */
const MOST_CACHES = 64
/** Characters of the name of a cache. */
const NAME_LEN = 16
/** Bytes of blobs in a cache: 10 GiB. */
const DEFAULT_QUOTA = 10 * 2 ** 30

/** @param {string} location  the value of --store */
export const isBucketUrl = location => location.startsWith('s3:')

/**
 * Opens a store in a bucket. Each process needs a cache of its own, so without --cache the first free one is used.
 *
 * @param {string} url @param {BucketValues & { 'read-only'?: boolean }} values @param {Pick<Context, 'signal'>} context
 * @returns {Promise<BucketStore>}
 */
export async function openBucketStore (url, values, { signal }) {
  const { BucketStore, s3 } = await import('../../../exchange/bucket/index.js')
  const { endpoint, region, cache } = values
  const { name, prefix } = bucketIn(url)
  const opened = asUsage(() => s3({ bucket: name, prefix, endpoint, region }))
  const options = { quota: values['cache-quota'] ?? DEFAULT_QUOTA, readOnly: values['read-only'], signal }
  const server = endpoint ?? process.env.AWS_ENDPOINT_URL_S3 ?? process.env.AWS_ENDPOINT_URL ?? ''
  const caches = cache === undefined ? defaultCaches(`${server} ${opened.location}`) : [cache]
  for (const [i, local] of caches.entries()) {
    try {
      return await BucketStore.open(opened, { ...options, local })
    } catch (error) {
      if (/** @type {{ code?: string }} */ (error).code !== 'STORE_LOCKED') throw error
      if (i < caches.length - 1) continue
      throw new Failure(`another process uses the cache ${local}: name another one with --cache`, { cause: error })
    }
  }
  throw new Error('unreachable')
}

/** The folders that are tried, one after the other. @param {string} bucketName */
function defaultCaches (bucketName) {
  const digits = createHash('sha256').update(bucketName).digest('hex').slice(0, NAME_LEN)
  const folder = join(cacheFolder(), 'baobox', digits)
  return Array.from({ length: MOST_CACHES }, (_, i) => i === 0 ? folder : `${folder}.${i + 1}`)
}

/**
 * The folder in which programs of a user keep what they can make again. Sources: XDG Base Directory Specification;
 * Apple, "File System Programming Guide"; Microsoft, "Known Folders".
 *
 * @param {{ platform?: string, env?: Record<string, string | undefined>, home?: string }} [system]
 */
export function cacheFolder ({ platform = process.platform, env = process.env, home = homedir() } = {}) {
  if (platform === 'win32') return join(env.LOCALAPPDATA || join(home, 'AppData', 'Local'), 'cache')
  // The specification allows only absolute paths.
  if (env.XDG_CACHE_HOME?.startsWith('/')) return env.XDG_CACHE_HOME
  return platform === 'darwin' ? join(home, 'Library', 'Caches') : join(home, '.cache')
}
