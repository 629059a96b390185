// Turns the options `key` and `context` into a mode. This module is not part of the engine, because deriving a mode
// hashes the context.

import { HASH_MODE, keyedMode, wordsOf } from '../engine/mode.js'
import { DERIVE_KEY_CONTEXT, DERIVE_KEY_MATERIAL, IV } from '../core/constants.js'
import { RESULT } from '../engine/arena.js'
import { assertKnownOptions } from '../core/options.js'
import { assertOptions, describe } from '../core/bytes.js'
import { hashToArena } from './hash-to-arena.js'

/** @import { Mode, ModeOptions } from '../core/types.js' */

const MODE_OPTIONS = ['key', 'context']

/**
 * Checks the options of a caller, and returns the mode that they name.
 *
 * @param {ModeOptions} [options]
 * @returns {Mode}
 */
export function modeOf (options) {
  if (options === undefined) return HASH_MODE
  assertOptions('options', options, '{ key } or { context }')
  assertKnownOptions(options, MODE_OPTIONS)
  const { key, context } = options
  if (key !== undefined && context !== undefined) throw new TypeError('"key" and "context" exclude each other')
  if (key !== undefined) return keyedMode(key)
  return context === undefined ? HASH_MODE : deriveMode(context)
}

const utf8 = new TextEncoder()
const CONTEXT_MODE = { keyWords: IV, flags: DERIVE_KEY_CONTEXT }
/**
 * The last context and its mode, because most programs use one context many times.
 *
 * @type {{ context: string, mode: Mode } | undefined}
 */
let lastDerived

/** @param {string} context @returns {Mode} */
export function deriveMode (context) {
  assertContext(context)
  if (lastDerived?.context !== context) {
    hashToArena(CONTEXT_MODE, utf8.encode(context))
    lastDerived = { context, mode: { keyWords: wordsOf(RESULT), flags: DERIVE_KEY_MATERIAL } }
  }
  return lastDerived.mode
}

/** @param {unknown} context @returns {asserts context is string} */
export function assertContext (context) {
  if (typeof context !== 'string') throw new TypeError(`"context" expected a string, got ${describe(context)}`)
}
