// Media types of files, by the endings of their names.

import { lookup } from 'mrmime'

/**
 * @param {string} name  of a file
 * @returns {string | undefined} the media type; for text, with `charset=utf-8`, because browsers would assume an older
 *   encoding
 */
export function typeOfName (name) {
  const file = name.slice(name.lastIndexOf('/') + 1)
  if (!file.includes('.')) return undefined
  const type = lookup(file)
  return type?.startsWith('text/') ? `${type}; charset=utf-8` : type
}
