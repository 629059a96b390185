// URLs of buckets: s3://BUCKET/PREFIX.

import { UsageError } from '../../terminal/errors.js'

/** @param {string} url @returns {{ name: string, prefix: string }} */
export function bucketIn (url) {
  const [, name, prefix = ''] = /^s3:\/\/([^/]+)(?:\/(.*))?$/s.exec(url) ?? []
  if (name !== undefined) return { name, prefix }
  throw new UsageError(`'${url}' is not the URL of a bucket: expected s3://BUCKET/PREFIX`)
}

/** Arguments that the library refuses were given by the user. @template T @param {() => T} call @returns {T} */
export function asUsage (call) {
  try {
    return call()
  } catch (error) {
    throw error instanceof TypeError ? new UsageError(error.message) : error
  }
}
