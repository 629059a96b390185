// The second part of the page: the name and the tree of a file, the path of a byte, and what happens to a wrong bit.

import { html, nothing, render } from 'lit-html'
import { hash, subtreeCv } from '../../../../lib/index.js'
import { createOutboard } from '../../../../encoder/index.js'
import { formatCount, formatRate, formatSize, hex, plural } from '../format.js'
import { TreeDrawing } from './drawing.js'
import { findFault } from './fault.js'
import { FileTree, GROUP_LEN } from './model.js'
import { makeSample } from './sample.js'

/** @import { FaultKind, FaultReport } from './fault.js' */
/** @import { TreeNode } from './model.js' */

/**
 * @typedef {FaultReport & { refused: TreeNode, expected: string, actual: string }} Fault  `refused`: the node whose
 *   bytes or pair were wrong; `expected` and `actual`: the hash of the piece
 */

/** Below this width, in pixels, the drawing begins with fewer nodes. */
const NARROW = 700
const SIGNS = { good: '✓', bad: '✗', unread: '–' }
const WORDS = { good: 'accepted', bad: 'refused', unread: 'not given out' }
/** The name of the event with which this part offers its file to the store of the page. */
export const CHOSEN = 'baobox-demo:file'

/** @param {HTMLElement} place */
export async function startTree (place) {
  new TreeView(place).draw()
}

class TreeView {
  #place
  /** @type {FileTree | undefined} */
  #tree
  #name = ''
  #speed = ''
  /** The share of the file that is hashed; undefined while nothing is hashed. @type {number | undefined} */
  #progress
  #problem = ''
  #offset = 0
  /** @type {TreeNode[]} */
  #path = []
  #open = /** @type {Set<string>} */ (new Set())
  /** @type {Fault | undefined} */
  #fault
  #drawing = new TreeDrawing({ onChange: () => this.draw(), onToggle: node => this.#toggle(node) })

  /** @param {HTMLElement} place */
  constructor (place) {
    this.#place = place
  }

  draw () { render(this.#template(), this.#place) }

  /** @param {Blob} file @param {string} name */
  async #take (file, name) {
    this.#problem = file.size === 0 ? 'An empty file has only a root. Choose another one.' : ''
    if (this.#problem !== '' || this.#progress !== undefined) return this.draw()
    this.#progress = 0
    this.#tree = this.#fault = undefined
    this.draw()
    try {
      const began = performance.now()
      const onProgress = (/** @type {any} */ { detail: { done } }) => {
        this.#progress = done / file.size
        this.draw()
      }
      const outboard = await createOutboard(file, { onProgress })
      const ms = performance.now() - began
      this.#speed = `${(ms / 1000).toFixed(ms < 1000 ? 2 : 1)} s, ${formatRate(file.size, ms)}`
      this.#tree = new FileTree(file, outboard)
      this.#name = name
      this.#walkTo(Math.floor(file.size / 3))
      dispatchEvent(new CustomEvent(CHOSEN, { detail: { file, name } }))
    } catch (error) {
      this.#problem = `The file could not be read: ${/** @type {Error} */ (error).message}`
    }
    this.#progress = undefined
    this.draw()
  }

  /** Shows the path to a byte, and the top of the tree. @param {number} offset */
  #walkTo (offset) {
    if (this.#tree === undefined) return
    this.#offset = Math.max(0, Math.min(Math.floor(offset) || 0, this.#tree.root.len - 1))
    this.#path = this.#tree.path(this.#offset)
    this.#fault = undefined
    this.#open = new Set(this.#path.map(({ id }) => id))
    let row = [this.#tree.root]
    for (let levels = this.#place.clientWidth < NARROW ? 1 : 3; levels > 0; levels--) {
      for (const { id } of row) this.#open.add(id)
      row = row.flatMap(node => this.#tree?.children(node) ?? [])
    }
    this.#drawing.fit()
    this.draw()
  }

  /** @param {TreeNode} node */
  #toggle (node) {
    if (node.isLeaf) return this.#walkTo(node.start)
    if (!this.#open.delete(node.id)) this.#open.add(node.id)
    this.draw()
  }

  /** @param {FaultKind} kind */
  async #spoil (kind) {
    const tree = /** @type {FileTree} */ (this.#tree)
    try {
      const fault = await findFault(tree, this.#offset, kind)
      const leaf = /** @type {TreeNode} */ (this.#path.at(-1))
      const bytes = new Uint8Array(await tree.file.slice(leaf.start, leaf.start + leaf.len).arrayBuffer())
      if (kind === 'byte') bytes[fault.offset - leaf.start] ^= 1
      const actual = leaf.parent === undefined ? hash(bytes) : subtreeCv(bytes, leaf.start / 1024)
      const refused = this.#path.find(node => !node.isLeaf && tree.number(node) === fault.error.node) ?? leaf
      this.#fault = { ...fault, refused, expected: hex(leaf.cv), actual: hex(actual) }
    } catch (error) {
      this.#problem = /** @type {Error} */ (error).message
    }
    this.draw()
  }

  #template () {
    return html`
      <div class="drop" @dragover=${(/** @type {DragEvent} */ event) => event.preventDefault()} @drop=${this.#onDrop}>
        <label class="button">Choose a file
          <input class="visually-hidden" type="file" @change=${(/** @type {any} */ { target }) => {
            const [file] = target.files
            if (file !== undefined) this.#take(file, file.name)
            target.value = ''
          }}></label>
        <span>or drop one here; it stays on this machine. Or</span>
        <button type="button" @click=${() => this.#take(makeSample(), 'a made-up file')}>
          take a made-up file of 64 MiB</button>
      </div>
      ${this.#progress === undefined
        ? nothing
        : html`<p class="row"><label>Hashing <progress max="1" .value=${this.#progress}></progress></label></p>`}
      ${this.#problem === '' ? nothing : html`<p class="note" role="alert">${this.#problem}</p>`}
      ${this.#tree === undefined ? nothing : this.#facts(this.#tree)}`
  }

  /** @param {DragEvent} event */
  #onDrop = event => {
    event.preventDefault()
    const file = event.dataTransfer?.files[0]
    if (file !== undefined) this.#take(file, file.name)
  }

  /** @param {FileTree} tree */
  #facts (tree) {
    const { outboard, root } = tree
    const cores = navigator.hardwareConcurrency ?? 1
    const share = (outboard.bytes.length / root.len * 100).toFixed(2)
    const fault = this.#fault
    const ids = (/** @type {TreeNode[]} */ nodes) => new Set(nodes.map(({ id }) => id))
    const marks = { open: this.#open, path: ids(this.#path), bad: ids(fault ? [fault.refused] : []) }
    return html`
      <div role="status"><dl class="facts">
        <div><dt>File</dt><dd>${this.#name}, ${formatSize(root.len)}</dd></div>
        <div><dt>Its name <span class="quiet">(CID)</span></dt><dd><code class="cid">${outboard.cid}</code></dd></div>
        <div><dt>Hashed</dt><dd>${this.#speed}, with ${plural(cores, 'core')}</dd></div>
        <div><dt>All hashes of the tree <span class="quiet">(outboard)</span></dt>
          <dd>${formatSize(outboard.bytes.length)}, ${share} % of the file</dd></div>
      </dl></div>
      <form class="row" @submit=${this.#onWalk}>
        <label>The path of byte
          <input type="number" name="offset" min="0" max=${root.len - 1} .value=${String(this.#offset)}></label>
        <button class="main">Show the path</button>
      </form>
      ${this.#drawing.template(tree, marks)}
      <details>
        <summary>The path in words</summary>
        <ol class="path">${this.#path.map(({ start, len, cv }) => html`
          <li>bytes ${formatCount(start)} to ${formatCount(start + len - 1)}: <code>${hex(cv)}</code></li>`)}</ol>
      </details>
      <h3>Change one bit on the way</h3>
      <p class="lead">The page cuts out the pieces around byte ${formatCount(this.#offset)} with the hashes that prove
        them, changes one bit, and gives the result to the verifier, as if a host had sent it.</p>
      <div class="row">
        <button type="button" @click=${() => this.#spoil('byte')}>Change byte ${formatCount(this.#offset)}</button>
        <button type="button" ?disabled=${root.isLeaf} @click=${() => this.#spoil('hash')}>
          Change a hash above it</button>
      </div>
      <div role="status">${fault === undefined ? nothing : this.#verdict(fault)}</div>`
  }

  /** @param {SubmitEvent} event */
  #onWalk = event => {
    event.preventDefault()
    const form = new FormData(/** @type {HTMLFormElement} */ (event.target))
    this.#walkTo(Number(form.get('offset')))
  }

  /** @param {Fault} fault */
  #verdict ({ kind, span, sliceLen, place, accepted, arrived, error, refused, expected, actual }) {
    const groups = /** @type {{ start: number, state: 'good' | 'bad' | 'unread' }[]} */ ([])
    for (let start = span.start; start < span.end; start += GROUP_LEN) {
      const isGood = accepted.some(one => one.start <= start && start < one.end)
      const isBad = !isGood && start >= refused.start && start < refused.start + refused.len
      groups.push({ start, state: isGood ? 'good' : isBad ? 'bad' : 'unread' })
    }
    return html`
      <ol class="groups" aria-label="What became of each piece">
        ${groups.map(({ start, state }) => html`<li class=${state}>
          <b>${SIGNS[state]}</b> from ${formatCount(start)} <span>${WORDS[state]}</span></li>`)}
      </ol>
      <p>The wrong bit was in byte ${formatCount(place)} of ${formatCount(sliceLen)}.
        After ${formatCount(arrived)} bytes the verifier stopped: <code>${error.code}</code>, ${error.message}.
        ${accepted.length === 0
          ? 'Nothing had been given out.'
          : `Before that, ${plural(accepted.length, 'piece')} had been given out, all of them right.`}</p>
      ${kind === 'byte'
        ? html`<p>The hash of the piece should be <code class="good">${expected}</code>, as the node above it says, and
          is <code class="bad">${actual}</code>.</p>`
        : html`<p>Two hashes that are beside each other are hashed to the node above them. So a wrong hash is found
          before any byte below it is looked at.</p>`}`
  }
}
