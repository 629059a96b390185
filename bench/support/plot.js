// Draws throughput over input size, as an SVG for light and dark pages. Both axes are logarithmic; each
// line has its name at its end.

import { PEERS } from './peers.js'
import { sized } from './inputs.js'
import { median } from './statistics.js'

/** @import { Table } from './tables.js' */

const WIDTH = 860
const HEIGHT = 480
const PLOT = { left: 74, right: WIDTH - 178, top: 66, bottom: HEIGHT - 46 }
/** Pixels between the names of lines that end close together. */
const LINE_HEIGHT = 16
const X_TICKS = [32, 256, 1024, 2 ** 13, 2 ** 16, 2 ** 20, 2 ** 24, 2 ** 28]
const Y_TICKS = [10, 100, 1000, 10_000]

/** Colours on light and on dark pages, which also differ in lightness. The first is ours. */
const COLOURS = [
  ['#0b57d0', '#8ab4f8'], ['#c2410c', '#fb923c'], ['#15803d', '#4ade80'], ['#9333ea', '#c084fc'],
  ['#b91c5c', '#f472b6'], ['#a16207', '#facc15'], ['#475569', '#cbd5e1'], ['#64748b', '#94a3b8']
]

/** @typedef {{ name: string, points: { x: number, y: number }[] }} Line  in pixels */

/**
 * @param {Table[]} tables  of one-shot hashes; rows of the same size follow the first
 * @param {string} subtitle
 * @returns {string} a whole SVG file
 */
export function throughputSvg (tables, subtitle) {
  const lines = linesOf(tables)
  const classOf = (/** @type {Line} */ { name }) => `c${[...lines.keys()].find(i => lines[i].name === name)}`
  const path = (/** @type {Line} */ line) => {
    const native = PEERS[line.name]?.isNative ? ' native' : ''
    return `<path class="line ${classOf(line)}${native}" d="M${line.points.map(pointText).join('L')}"/>`
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-labelledby="title">
<title id="title">BLAKE3 throughput over input size: baobox beside other packages</title>
<style>
${styleOf(lines.length)}
</style>
<text x="${PLOT.left}" y="26" class="title">One-shot hash: bytes per second over the length of the input</text>
<text x="${PLOT.left}" y="46" class="note">${escaped(subtitle)}</text>
${Y_TICKS.map(speedTick).join('\n')}
${X_TICKS.map(sizeTick).join('\n')}
${lines.toReversed().map(path).join('\n')}
${placed(lines).map(({ line, at }) => nameText(line, at, classOf(line))).join('\n')}
<text x="${PLOT.left}" y="${HEIGHT - 6}" class="note">dashed: native code; solid: JavaScript and WebAssembly</text>
</svg>
`
}

/** @param {Table[]} tables @returns {Line[]} ours first */
function linesOf (tables) {
  /** @type {Map<string, Map<number, number>>} */
  const speeds = new Map()
  for (const { bytes, samples } of tables.flatMap(({ results }) => results)) {
    if (bytes < X_TICKS[0]) continue
    for (const [name, ns] of Object.entries(samples)) {
      const line = speeds.get(name) ?? new Map()
      speeds.set(name, line)
      if (!line.has(bytes)) line.set(bytes, bytes / median(ns) * 1000)
    }
  }
  return [...speeds].map(([name, line]) => ({
    name,
    points: [...line].sort(([a], [b]) => a - b).map(([bytes, speed]) => ({ x: xOf(bytes), y: yOf(speed) }))
  }))
}

/**
 * The heights of the names. Those at the right border keep their distance, and move no more than necessary. Names that
 * would touch form a cluster, which is centred on the ends of its lines; clusters that then touch become one.
 *
 * @param {Line[]} lines
 */
function placed (lines) {
  const names = lines.map(line => ({ line, at: endOf(line).y + 4 })).sort((a, b) => a.at - b.at)
  const column = names.filter(({ line }) => endOf(line).x > PLOT.right - 40)
  /** @type {{ top: number, wishes: number[] }[]} */
  const clusters = []
  for (const { at } of column) {
    let cluster = { top: at, wishes: [at] }
    for (let above = clusters.pop(); above; above = clusters.pop()) {
      if (above.top + above.wishes.length * LINE_HEIGHT <= cluster.top) {
        clusters.push(above)
        break
      }
      const wishes = [...above.wishes, ...cluster.wishes]
      cluster = { wishes, top: wishes.reduce((sum, wish, i) => sum + wish - i * LINE_HEIGHT, 0) / wishes.length }
    }
    clusters.push(cluster)
  }
  const heights = clusters.flatMap(({ top, wishes }) => wishes.map((_, i) => top + i * LINE_HEIGHT))
  column.forEach((name, i) => { name.at = heights[i] })
  return names
}

/** @param {Line} line */
const endOf = ({ points }) => points[points.length - 1]

/** @param {Line} line @param {number} at @param {string} colour */
function nameText ({ name, points }, at, colour) {
  const { x, y } = points[points.length - 1]
  const isFar = Math.abs(at - 4 - y) > 3
  const path = `M${x + 2} ${round(y)}L${x + 12} ${round(at - 4)}`
  const leader = isFar ? `<path class="leader ${colour}" d="${path}"/>` : ''
  return `${leader}<text class="name ${colour}" x="${x + 15}" y="${round(at)}">${escaped(name)}</text>`
}

/** @param {number} size */
const xOf = size => round(along(size, X_TICKS[0], X_TICKS[X_TICKS.length - 1], PLOT.left, PLOT.right))
/** @param {number} speed  MB/s */
const yOf = speed => round(along(speed, Y_TICKS[0], Y_TICKS[Y_TICKS.length - 1], PLOT.bottom, PLOT.top))
/** @param {number} value @param {number} low @param {number} high @param {number} from @param {number} to */
const along = (value, low, high, from, to) => from + Math.log(value / low) / Math.log(high / low) * (to - from)
/** @param {number} pixels */
const round = pixels => Math.round(pixels * 10) / 10

/** @param {{ x: number, y: number }} point */
const pointText = ({ x, y }) => `${x} ${y}`
/** @param {number} x1 @param {number} y1 @param {number} x2 @param {number} y2 */
const tick = (x1, y1, x2, y2) => `<path class="grid" d="M${x1} ${y1}L${x2} ${y2}"/>`
/** @param {number} x @param {number} y @param {string} anchor @param {string} text */
const label = (x, y, anchor, text) => `<text class="label" x="${x}" y="${y}" text-anchor="${anchor}">${text}</text>`

/** @param {number} speed  in MB/s */
function speedTick (speed) {
  const text = speed < 1000 ? `${speed} MB/s` : `${speed / 1000} GB/s`
  const y = yOf(speed)
  return tick(PLOT.left, y, PLOT.right, y) + label(PLOT.left - 8, y + 4, 'end', text)
}

/** @param {number} size */
function sizeTick (size) {
  const x = xOf(size)
  return tick(x, PLOT.top, x, PLOT.bottom) + label(x, PLOT.bottom + 20, 'middle', sized(size))
}
/** @param {string} text */
const escaped = text => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

/** @param {number} count  of lines */
function styleOf (count) {
  const colours = (/** @type {number} */ shade) =>
    COLOURS.slice(0, count).map((pair, i) => `.c${i} { --c: ${pair[shade]} }`).join(' ')
  return `text { font: 12px system-ui, sans-serif; fill: #1f2937 }
.title { font-size: 15px; font-weight: 600 }
.label, .note { fill: #6b7280 }
.grid { stroke: #e5e7eb }
${colours(0)}
.line { fill: none; stroke: var(--c); stroke-width: 1.6; stroke-linejoin: round }
.line.c0 { stroke-width: 3.2 }
.native { stroke-dasharray: 5 4 }
.leader { stroke: var(--c); stroke-width: 0.8 }
.name { fill: var(--c) }
.name.c0 { font-weight: 700 }
@media (prefers-color-scheme: dark) {
text { fill: #e5e7eb }
.label, .note { fill: #9ca3af }
.grid { stroke: #374151 }
${colours(1)}
}`
}
