// Converts errors to messages between threads, and back, because a plain copy would lose their class and code.

import { BaoError } from '../../core/errors.js'

/** @typedef {'BaoError' | 'DOMException' | 'Error'} Kind */
/** @typedef {{ kind: Kind, name: string, message: string, properties: Record<string, any> }} Failure */

/** @param {unknown} error @returns {Failure} */
export function errorToMessage (error) {
  const { name, message } = error instanceof Error ? error : new Error(String(error))
  const kind = error instanceof BaoError ? 'BaoError' : error instanceof DOMException ? 'DOMException' : 'Error'
  return { kind, name, message, properties: kind === 'DOMException' ? {} : Object.assign({}, error) }
}

/** @param {Failure} failure @returns {Error} */
export function errorFromMessage ({ kind, name, message, properties }) {
  if (kind === 'BaoError') return new BaoError(properties.code, message, properties)
  if (kind === 'DOMException') return new DOMException(message, name)
  return Object.assign(new Error(message), { name }, properties)
}
