// Finds the media types of files by the extensions of their names.

import { lookup } from 'mrmime'

/**
 * @param {string} name  the name of a file
 * @returns {string | undefined} the media type. Types of text have `charset=utf-8`, because browsers would otherwise
 *   assume an older encoding
 */
export function typeOfName (name) {
  const file = name.slice(name.lastIndexOf('/') + 1)
  if (!file.includes('.')) return undefined
  const type = lookup(file)
  return type?.startsWith('text/') ? `${type}; charset=utf-8` : type
}
