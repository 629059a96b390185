// A caller's mistake is a TypeError or RangeError that names the argument. It has no code, because nobody should catch
// it.
import { expect } from 'chai'
import { errorOf } from './feeding.js'

/** Values that are not bytes, although some look like bytes. */
export const NOT_BYTES = [
  transferred(), cutOff(), undefined, null, 'abcd', '', 5, 5n, true, [1, 2], {}, new ArrayBuffer(4),
  new Uint16Array(4), new DataView(new ArrayBuffer(4)), () => {}
]

/** Numbers that are not a length or an index. */
export const NOT_NUMBERS = [null, '5', '', 5n, true, [5], {}]
export const IMPOSSIBLE_NUMBERS = [-1, -0.5, 1.5, NaN, Infinity, -Infinity, 2 ** 53]

/**
 * @param {string} name  the argument's name
 * @param {() => any} action  throws, or returns a promise that rejects
 * @param {Function[]} types
 */
export async function expectSlip (name, action, types = [TypeError, RangeError]) {
  const error = await errorOf(action)
  expect(error, `"${name}" was let through`).to.be.instanceOf(Error)
  expect(types.some(type => error instanceof type), `"${name}": ${error.stack}`).to.equal(true)
  expect(error.message).to.include(`"${name}"`)
}

/** Expects a call to refuse everything that is not bytes. @param {(value: any) => any} use */
export async function refusesAllButBytes (name, use) {
  for (const value of NOT_BYTES) await expectSlip(name, () => use(value), [TypeError])
}

/** Expects a call to refuse everything that is not a length or index. @param {(value: any) => any} use */
export async function refusesAllButCounts (name, use, impossible = IMPOSSIBLE_NUMBERS) {
  for (const value of NOT_NUMBERS) await expectSlip(name, () => use(value), [TypeError])
  for (const value of impossible) await expectSlip(name, () => use(value), [RangeError])
}

/** Expects a call to refuse keys of a wrong type or length. @param {(value: any) => any} use */
export async function refusesAllButKeys (use) {
  for (const value of NOT_BYTES.filter(value => value !== undefined)) await expectSlip('key', () => use(value))
  for (const len of [0, 31, 33, 64]) await expectSlip('key', () => use(new Uint8Array(len)))
}

/** Expects a call to refuse wrong group logs. @param {(value: any) => any} use */
export const refusesAllButGroupLogs = use => refusesAllButCounts('groupLog', use, [...IMPOSSIBLE_NUMBERS, 17])

function transferred () {
  const bytes = new Uint8Array(4)
  structuredClone(bytes.buffer, { transfer: [bytes.buffer] })
  return bytes
}

function cutOff () {
  const memory = new ArrayBuffer(8, { maxByteLength: 8 })
  const bytes = new Uint8Array(memory, 4, 4)
  memory.resize(2)
  return bytes
}
