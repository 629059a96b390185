// Explores every interleaving of some processes that share parts of a state, breadth first, so that the way to a fault
// is a shortest one. A state is a list of parts, which are plain JSON values. Equal parts get one number. The row of
// these numbers tells whether the state was reached before.

/**
 * @typedef {object} Process
 * @property {number[]} parts  the parts that its steps read and change
 * @property {(...values: any[]) => Step[]} steps  every step that it can take now. It depends on its parts alone.
 *
 * @typedef {object} Step
 * @property {string} words  what happens
 * @property {any[]} values  the parts afterwards, in the order of `Process.parts`
 *
 * @typedef {object} Result
 * @property {number} states  how many different states were reached
 * @property {number} transitions  how many steps lead from one of them to another one
 * @property {number} ends  how many states have no step
 * @property {boolean} complete  whether all states were seen: neither a fault nor `maxStates` has ended the search
 * @property {{ fault: string, trace: string[] }} [found]  the first fault, and a shortest way to it
 */

/**
 * @param {object} system
 * @param {any[]} system.start  the parts of the first state: objects, whose keys are in a canonical order
 * @param {Process[]} system.processes
 * @param {(parts: any[]) => string | undefined} system.check  says what is wrong in a state
 * @param {(parts: any[]) => string | undefined} [system.checkEnd]  says what is wrong in a state that has no step
 * @param {number} [system.maxStates]
 * @returns {Result}
 */
export function explore ({ start, processes, check, checkEnd = () => undefined, maxStates = Infinity }) {
  const numbers = start.map(() => new Numbers())
  const states = new Rows(start.length)
  const steps = processes.map(process => knownSteps(process, numbers))
  const row = new Int32Array(start.length)
  let transitions = 0
  let ends = 0
  let isCut = false

  /** Makes `row` the state after a step. */
  function follow (state, p, { values }) {
    row.set(state)
    processes[p].parts.forEach((part, i) => { row[part] = values[i] })
  }

  /** Returns the words of the steps from the first state to another one. */
  function traceTo (index) {
    const trace = []
    for (let to = index; to > 0; to = states.parents[to]) {
      const from = states.at(states.parents[to]).slice()
      const goal = `${states.at(to)}`
      const taken = processes.flatMap((_, p) => steps[p](from).filter(step => {
        follow(from, p, step)
        return `${row}` === goal
      }))
      trace.unshift(taken[0].words)
    }
    return trace
  }

  states.add(Int32Array.from(start, (value, part) => numbers[part].of(value)), -1)
  for (let index = 0; index < states.length; index++) {
    const state = states.at(index).slice()
    const parts = Array.from(state, (number, part) => numbers[part].values[number])
    const before = transitions
    for (let p = 0; p < processes.length; p++) {
      for (const step of steps[p](state)) {
        transitions++
        follow(state, p, step)
        if (states.length < maxStates) states.add(row, index)
        else isCut ||= !states.has(row)
      }
    }
    const isEnd = transitions === before
    if (isEnd) ends++
    const fault = check(parts) ?? (isEnd ? checkEnd(parts) : undefined)
    if (fault) {
      return { states: states.length, transitions, ends, complete: false, found: { fault, trace: traceTo(index) } }
    }
  }
  return { states: states.length, transitions, ends, complete: !isCut }
}

/** Returns the steps of a process in a state, with numbers as their values. They are computed once for equal parts. */
function knownSteps ({ parts, steps }, numbers) {
  /** By the number of the first part, then by those of the others. */
  const known = []
  return state => {
    const lists = known[state[parts[0]]] ??= new Map()
    const key = parts.length <= 2 ? state[parts[1] ?? parts[0]] : `${parts.map(part => state[part])}`
    let list = lists.get(key)
    if (list === undefined) {
      list = steps(...parts.map(part => numbers[part].values[state[part]]))
        .map(({ words, values }) => ({ words, values: values.map((value, i) => numbers[parts[i]].of(value)) }))
        .filter(({ values }) => values.some((number, i) => number !== state[parts[i]]))
      lists.set(key, list)
    }
    return list
  }
}

/** Gives equal JSON values one number. */
class Numbers {
  values = []
  #numbers = new Map()

  /** @param {any} value  which must not change any more @returns {number} */
  of (value) {
    const text = JSON.stringify(value)
    let number = this.#numbers.get(text)
    if (number === undefined) {
      number = this.values.push(value) - 1
      this.#numbers.set(text, number)
    }
    return number
  }
}

/** Rows of numbers, each of which is kept once: a hash table with open addressing. */
class Rows {
  length = 0
  #width
  #rows = new Int32Array(1 << 12)
  /** The row from which each one was reached first. */
  parents = new Int32Array(1 << 8)
  /** The index of a row plus 1, or 0. */
  #table = new Int32Array(1 << 10)

  constructor (width) {
    this.#width = width
  }

  /** Returns a row. It is borrowed: it is valid until the next `add`. */
  at (index) {
    return this.#rows.subarray(index * this.#width, (index + 1) * this.#width)
  }

  has (row) {
    return this.#table[this.#placeOf(row)] > 0
  }

  /** Adds a row if it is not there. */
  add (row, parent) {
    const place = this.#placeOf(row)
    if (this.#table[place] > 0) return
    if ((this.length + 1) * this.#width > this.#rows.length) this.#rows = doubled(this.#rows)
    if (this.length === this.parents.length) this.parents = doubled(this.parents)
    this.#rows.set(row, this.length * this.#width)
    this.parents[this.length++] = parent
    this.#table[place] = this.length
    if (this.length * 2 > this.#table.length) this.#grow()
  }

  /** Returns the place of a row in the table, or the free place at which it belongs. */
  #placeOf (row) {
    const mask = this.#table.length - 1
    let hash = 0
    for (let i = 0; i < this.#width; i++) {
      hash = Math.imul(hash ^ row[i], 0x9e3779b1)
      hash ^= hash >>> 15
    }
    let place = hash & mask
    while (this.#table[place] > 0 && !this.#isAt(this.#table[place] - 1, row)) place = (place + 1) & mask
    return place
  }

  #isAt (index, row) {
    const from = index * this.#width
    for (let i = 0; i < this.#width; i++) if (this.#rows[from + i] !== row[i]) return false
    return true
  }

  #grow () {
    this.#table = new Int32Array(this.#table.length * 2)
    for (let index = 0; index < this.length; index++) this.#table[this.#placeOf(this.at(index))] = index + 1
  }
}

const doubled = array => {
  const longer = new Int32Array(array.length * 2)
  longer.set(array)
  return longer
}
