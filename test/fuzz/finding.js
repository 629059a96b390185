// What a fuzzer says when something is not as it must be.
import { BaoError } from '../../lib/index.js'
import { same } from '../support/bytes.js'

export class Finding extends Error {
  name = 'Finding'
}

/** @param {string} what @returns {never} */
export function finding (what, cause) { throw new Finding(what, cause === undefined ? undefined : { cause }) }

/** @param {unknown} condition @param {() => string} what */
export function expectThat (condition, what) { if (!condition) finding(what()) }

/**
 * The same bytes at the same places.
 *
 * @param {{ offset: number, bytes: Uint8Array }[]} got  neighbours joined
 * @param {{ offset: number, bytes: Uint8Array }[]} due
 */
export function expectLeaves (got, due, what = 'leaves') {
  const told = list => `[${list.map(({ offset, bytes }) => `${offset}+${bytes.length}`)}]`
  expectThat(got.length === due.length && got.every(
    (leaf, i) => leaf.offset === due[i].offset && same(leaf.bytes, due[i].bytes)
  ),
  () => `${what}: ${told(got)} came out, ${told(due)} must${told(got) === told(due) ? ': other bytes' : ''}`)
}

const PLACE = ['code', 'node', 'start', 'len', 'wanted', 'got']

/** The same code and place, or none. @param {any} error @param {any} fault */
export function expectFault (error, fault, what = 'fault') {
  const isSame = fault === undefined
    ? error === undefined
    : error !== undefined && PLACE.every(
      name => error[name] === fault[name]
    )
  if (!isSame) finding(`${what}: got ${tellFault(error)}, expected ${tellFault(fault)}`, error)
}

const tellFault = error => error === undefined
  ? 'none'
  : error.code === undefined
    ? String(error)
    : PLACE.filter(
      name => error[name] !== undefined
    ).map(name => `${name} ${error[name]}`).join(' ')

/** An error that callers are told of: with a code among these. @param {any} error @param {string[]} codes */
export function expectCode (error, codes, what = 'error') {
  if (!(error instanceof BaoError) || !codes.includes(error.code)) {
    finding(
    `${what}: got ${error?.stack ?? error}, expected one of ${codes}`, error
    )
  }
}
