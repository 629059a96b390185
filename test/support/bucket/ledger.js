// What the tags of a store may be, when several processes set and delete them and some of the outcomes are unknown.

/**
 * @typedef {object} Change  of a tag
 * @property {string} call  what was asked for
 * @property {string | undefined} value  what it names; undefined: it is deleted
 * @property {boolean} isPromised  true if the blob is there from the acknowledgement on
 * @property {number} begin  when it was asked for
 * @property {number} end  when it was acknowledged; Infinity if it never was
 */

export class Ledger {
  #time = 0
  #changes = /** @type {Map<string, Change[]>} */ (new Map())
  #underWay = /** @type {Set<Change>} */ (new Set())

  /** @param {string} name @param {string | undefined} value @param {string} call @returns {Change} */
  begin (name, value, call) {
    const change = { call, value, isPromised: true, begin: ++this.#time, end: Infinity }
    const changes = this.#changes.get(name) ?? []
    this.#changes.set(name, changes)
    changes.push(change)
    this.#underWay.add(change)
    return change
  }

  /** @param {Change} change @param {{ isPromised?: boolean }} [result] */
  acknowledge (change, { isPromised = true } = {}) {
    change.end = ++this.#time
    change.isPromised = isPromised
    this.#underWay.delete(change)
  }

  /** The outcome will never be known. @param {Change} change */
  giveUp (change) { this.#underWay.delete(change) }

  get names () { return [...this.#changes.keys()] }

  /** @param {string} name */
  isUnderWay (name) { return (this.#changes.get(name) ?? []).some(change => this.#underWay.has(change)) }

  /** @param {string} name */
  countOf (name) { return this.#changes.get(name)?.length ?? 0 }

  /**
   * Says what is wrong with the state of a tag.
   *
   * @param {string} name
   * @param {string | undefined} value @param {boolean} isReadable  true if all its bytes can be read
   * @returns {string | undefined} undefined if nothing is
   */
  faultOf (name, value, isReadable) {
    const all = this.#changes.get(name) ?? []
    const sure = all.filter(({ end }) => end < Infinity)
    const last = all.filter(({ end }) => !sure.some(({ begin }) => begin > end))
    const may = [...last, ...sure.length === 0 ? [{ value: undefined, isPromised: false, end: 0 }] : []]
    const fitting = may.filter(change => change.value === value)
    const text = JSON.stringify({ name, value, isReadable, may })
    if (fitting.length === 0) return `the tag should be another one: ${text}`
    if (value === undefined || isReadable) return undefined
    // A tag may be set on a blob that is not there. A writer of a sequence that was killed, or whose requests failed,
    // may leave a version whose members are gone, and readers look only whether the sequence itself is there.
    const mayLack = ['tag', 'putSequence']
    if (fitting.some(({ call, end }) => mayLack.includes(call) && end === Infinity)) return undefined
    // A reader passes over what was not acknowledged and has no blob, if something acknowledged is below it.
    const isBelow = last.some(({ value, end, isPromised }) => value !== undefined && end < Infinity && isPromised) &&
      last.every(({ value, isPromised }) => value !== undefined && isPromised)
    return isBelow ? `the blob should be there: ${text}` : undefined
  }
}
