// Media types of files, by the endings of their names.

import { lookup } from 'mrmime'

/**
 * @param {string} name  of a file
 * @returns {string | undefined} text says that it is UTF-8, since browsers would take it for something older
 */
export function typeOfName (name) {
  const file = name.slice(name.lastIndexOf('/') + 1)
  if (!file.includes('.')) return undefined
  const type = lookup(file)
  return type?.startsWith('text/') ? `${type}; charset=utf-8` : type
}
