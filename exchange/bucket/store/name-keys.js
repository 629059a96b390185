// The keys of tags and aliases, which have their names in them.

import { base16 } from 'multiformats/bases/base16'

/** The folder of a tag: its name, percent-encoded. @param {string} name */
export const tagFolder = name => `tags/${encoded(name)}`

/** The start of the keys of all tags whose names begin with a prefix. @param {string} prefix */
export const tagKeysFrom = prefix => `tags/${isDots(prefix) ? '' : encodeURIComponent(prefix)}`

/**
 * @param {string} key @returns {{ name: string, version: number } | undefined} undefined if it is not that of a tag
 */
export function parseTagKey (key) {
  const match = /^tags\/([^/]+)\/(\d{16})$/.exec(key)
  if (match === null) return undefined
  try {
    const name = decodeURIComponent(match[1])
    return encoded(name) === match[1] ? { name, version: Number(match[2]) } : undefined
  } catch {} // not percent-encoded: the object of somebody else
}

/** @param {string} name */
const encoded = name => isDots(name) ? name.replaceAll('.', '%2E') : encodeURIComponent(name)

/** True for what no segment of a key may be. @param {string} name */
const isDots = name => /^\.\.?$/.test(name)

/** The folder of an alias: its multihash, in hexadecimal digits. @param {Uint8Array} multihash */
export const aliasFolder = multihash => `aliases/${base16.baseEncode(multihash)}`
