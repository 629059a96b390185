// Draws a part of a tree, with d3-hierarchy for the places of the nodes and d3-zoom for moving and zooming.

import { hierarchy, tree as treeLayout } from 'd3-hierarchy'
import { select } from 'd3-selection'
import { zoom as makeZoom, zoomIdentity } from 'd3-zoom'
import { html, nothing, svg } from 'lit-html'
import { ref } from 'lit-html/directives/ref.js'
import { formatCount, formatSize, hex } from '../format.js'

/** @import { HierarchyPointNode } from 'd3-hierarchy' */
/** @import { FileTree, TreeNode } from './model.js' */

/**
 * @typedef {object} Marks  what is special about some nodes, by their ids
 * @property {Set<string>} open  nodes whose children are drawn
 * @property {Set<string>} path
 * @property {Set<string>} bad
 */

const [NODE_WIDTH, NODE_HEIGHT, GAP_X, GAP_Y] = [76, 34, 12, 30]
const MARGIN = 24
const MOST_HEIGHT = 760
const [MIN_SCALE, MAX_SCALE, STEP] = [0.15, 3, 1.4]

export class TreeDrawing {
  #onChange
  #onToggle
  /** @type {SVGSVGElement | undefined} */
  #svg
  #transform = zoomIdentity
  #focus = ''
  #zoom = /** @type {import('d3-zoom').ZoomBehavior<SVGSVGElement, unknown>} */ (makeZoom())
  /** @type {HierarchyPointNode<TreeNode>[]} */
  #nodes = []
  #isFitted = false
  #width = 0
  #resized = new ResizeObserver(([{ contentRect: { width } }]) => {
    if (width === this.#width) return
    this.#width = width
    this.fit()
    this.#onChange()
  })

  /** @param {{ onChange: () => void, onToggle: (node: TreeNode) => void }} events */
  constructor ({ onChange, onToggle }) {
    this.#onChange = onChange
    this.#onToggle = onToggle
    this.#zoom
      .scaleExtent([MIN_SCALE, MAX_SCALE])
      // A plain wheel and one finger scroll the page.
      .filter((/** @type {any} */ { type, ctrlKey, metaKey, touches, button }) => {
        if (type === 'wheel') return ctrlKey || metaKey
        return touches === undefined ? button === 0 : touches.length > 1
      })
      .on('zoom', (/** @type {any} */ { transform }) => {
        this.#transform = transform
        onChange()
      })
  }

  /** Makes the next drawing show the whole tree. */
  fit () { this.#isFitted = false }

  /** @param {FileTree} tree @param {Marks} marks */
  template (tree, marks) {
    const root = hierarchy(tree.root, node => marks.open.has(node.id) ? tree.children(node) : null)
    const layout = treeLayout().nodeSize([NODE_WIDTH + GAP_X, NODE_HEIGHT + GAP_Y]).separation(() => 1)
    const laid = /** @type {HierarchyPointNode<TreeNode>} */ (layout(/** @type {any} */ (root)))
    this.#nodes = laid.descendants()
    const [left, right] = [Math.min, Math.max].map(pick => pick(...this.#nodes.map(({ x }) => x)))
    const bottom = Math.max(...this.#nodes.map(({ y }) => y))
    const box = { left, width: right - left + NODE_WIDTH, height: bottom + NODE_HEIGHT }
    if (!this.#nodes.some(({ data }) => data.id === this.#focus)) this.#focus = tree.root.id
    const scale = Math.max(MIN_SCALE, Math.min(1, (this.#width - 2 * MARGIN) / box.width))
    const height = Math.min(MOST_HEIGHT, box.height * scale + 2 * MARGIN)
    queueMicrotask(() => this.#fitTo(box, height))
    return html`
      <div class="row" role="group" aria-label="The drawing">
        <button type="button" @click=${() => this.#scaleBy(STEP)}>Zoom in</button>
        <button type="button" @click=${() => this.#scaleBy(1 / STEP)}>Zoom out</button>
        <button type="button" @click=${() => { this.fit(); this.#onChange() }}>Show all</button>
        <span class="quiet label">Drag to move. Click a node to open or close it; the arrow keys walk.</span>
      </div>
      <svg class="drawing" role="tree" aria-label="The tree of the file" height=${height} ${ref(this.#attach)}
        @keydown=${this.#onKey}>
        <g role="presentation" transform=${this.#transform.toString()}>
          ${laid.links().map(({ source, target }) => svg`<path class=${
            marks.path.has(target.data.id) ? 'link path' : 'link'} d=${linkOf(source, target)} />`)}
          ${this.#nodes.map(point => this.#node(point, marks))}
        </g>
      </svg>`
  }

  /** @param {HierarchyPointNode<TreeNode>} point @param {Marks} marks */
  #node ({ data, x, y, depth }, { open, path, bad }) {
    const { id, start, len, cv, isLeaf } = data
    const state = bad.has(id) ? 'bad' : path.has(id) ? 'path' : ''
    const says = { bad: ', refused', path: ', on the path', '': '' }[state]
    const digits = hex(cv.subarray(0, 3))
    const sign = state === 'bad' ? ' ✗' : ''
    const label = `${digits}${sign} ${formatSize(len)}, bytes ${start} to ${start + len - 1}${says}`
    return svg`
      <g class="node ${state}" role="treeitem" transform="translate(${x}, ${y})" data-id=${id}
        tabindex=${id === this.#focus ? 0 : -1} aria-level=${depth + 1} aria-label=${label}
        aria-selected=${path.has(id)} aria-expanded=${isLeaf ? nothing : open.has(id)}
        @click=${() => this.#toggle(data)}>
        <rect x=${-NODE_WIDTH / 2} width=${NODE_WIDTH} height=${NODE_HEIGHT} rx=${isLeaf ? 2 : 10} />
        <text y="14">${digits}${sign}</text>
        <text y="27" class="size">${formatSize(len)}</text>
        ${!isLeaf && !open.has(id) ? svg`<path class="more" d="M-6 ${NODE_HEIGHT + 4}l6 6 6-6" />` : ''}
        <title>${`bytes ${formatCount(start)} to ${formatCount(start + len - 1)}`}</title>
      </g>`
  }

  /** @param {TreeNode} node */
  #toggle (node) {
    this.#focus = node.id
    this.#onToggle(node)
  }

  /** @param {Element | undefined} element */
  #attach = element => {
    if (element === undefined || element === this.#svg) return
    this.#svg = /** @type {SVGSVGElement} */ (element)
    select(this.#svg).call(this.#zoom).on('dblclick.zoom', null)
    this.#resized.disconnect()
    this.#resized.observe(this.#svg)
  }

  /** @param {{ left: number, width: number, height: number }} box @param {number} height */
  #fitTo ({ left, width, height: full }, height) {
    if (this.#isFitted || !this.#svg?.isConnected) return
    this.#isFitted = true
    const room = this.#svg.clientWidth - 2 * MARGIN
    const scale = Math.max(MIN_SCALE, Math.min(1, room / width, (height - 2 * MARGIN) / full))
    const middle = left - NODE_WIDTH / 2 + width / 2
    const transform = zoomIdentity.translate(this.#svg.clientWidth / 2 - middle * scale, MARGIN).scale(scale)
    select(this.#svg).call(this.#zoom.transform, transform)
  }

  /** @param {number} factor */
  #scaleBy (factor) {
    if (this.#svg !== undefined) select(this.#svg).call(this.#zoom.scaleBy, factor)
  }

  /** @param {KeyboardEvent} event */
  #onKey = event => {
    const now = this.#nodes.find(({ data }) => data.id === this.#focus)
    if (now === undefined) return
    const row = this.#nodes.filter(({ depth }) => depth === now.depth).sort((a, b) => a.x - b.x)
    const neighbour = (/** @type {number} */ by) => row[row.indexOf(now) + by]
    const next = {
      ArrowUp: () => now.parent,
      ArrowDown: () => now.children?.[0],
      ArrowLeft: () => neighbour(-1),
      ArrowRight: () => neighbour(1),
      Enter: () => this.#toggle(now.data),
      ' ': () => this.#toggle(now.data)
    }[event.key]
    if (next === undefined) return
    event.preventDefault()
    const target = next()
    if (target === undefined || target === null) return
    this.#focus = target.data.id
    this.#onChange()
    requestAnimationFrame(() => {
      /** @type {SVGElement | null | undefined} */ (this.#svg?.querySelector('[tabindex="0"]'))?.focus()
    })
  }
}

/** @param {HierarchyPointNode<TreeNode>} source @param {HierarchyPointNode<TreeNode>} target */
function linkOf (source, target) {
  const [top, bottom] = [source.y + NODE_HEIGHT, target.y]
  const middle = (top + bottom) / 2
  return `M${source.x} ${top}C${source.x} ${middle} ${target.x} ${middle} ${target.x} ${bottom}`
}
