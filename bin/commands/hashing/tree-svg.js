// Draws the nodes of a hash tree as SVG: the root on top, each node above its children.

import { formatCount } from '../../terminal/format.js'

/** @import { TreeNode } from './tree.js' */
/** @typedef {{ node: TreeNode, x: number, y: number, children: Box[] }} Box  `x`, `y`: the middle of the box */

/** Pixels: of a box, of the gaps between boxes, of the border of the drawing, and of the title. */
const [WIDTH, HEIGHT, GAP_X, GAP_Y, BORDER, TITLE] = [120, 40, 12, 36, 16, 28]
const DIGITS = 12

/**
 * @param {TreeNode} root
 * @param {string} title
 * @returns {string}
 */
export function drawSvg (root, title) {
  let leaves = 0
  let depth = 0
  /** @param {TreeNode} node @param {number} level @returns {Box} */
  const place = (node, level) => {
    depth = Math.max(depth, level)
    const children = node.children.map(child => place(child, level + 1))
    const x = children.length > 0
      ? (children[0].x + children[children.length - 1].x) / 2
      : BORDER + WIDTH / 2 + leaves++ * (WIDTH + GAP_X)
    return { node, x, y: BORDER + TITLE + HEIGHT / 2 + level * (HEIGHT + GAP_Y), children }
  }
  const top = place(root, 0)
  const width = Math.max(2 * BORDER + leaves * (WIDTH + GAP_X) - GAP_X, 2 * BORDER + title.length * 8)
  const height = 2 * BORDER + TITLE + HEIGHT + depth * (HEIGHT + GAP_Y)
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" \
font-family="monospace" font-size="12">
<rect width="100%" height="100%" fill="#fff"/>
<text x="${BORDER}" y="${BORDER + 12}">${title}</text>
<g stroke="#888">
${[...linesBelow(top)].join('\n')}
</g>
<g text-anchor="middle">
${[...boxesBelow(top)].join('\n')}
</g>
</svg>
`
}

/** @param {Box} box @returns {Generator<string>} */
function * linesBelow ({ x, y, children }) {
  for (const child of children) {
    yield `<line x1="${x}" y1="${y + HEIGHT / 2}" x2="${child.x}" y2="${child.y - HEIGHT / 2}"/>`
    yield * linesBelow(child)
  }
}

/** @param {Box} box @returns {Generator<string>} */
function * boxesBelow ({ node: { cv, start, end, chunks }, x, y, children }) {
  const fill = children.length > 0 ? '#e8f0fe' : '#e6f4ea'
  yield `<g><title>${cv}, bytes ${start} to ${end}, ${formatCount(chunks, 'chunk')}</title>` +
    `<rect x="${x - WIDTH / 2}" y="${y - HEIGHT / 2}" width="${WIDTH}" height="${HEIGHT}" rx="4" fill="${fill}"` +
    ' stroke="#888"/>' +
    `<text x="${x}" y="${y - 3}">${cv.slice(0, DIGITS)}</text>` +
    `<text x="${x}" y="${y + 13}" font-size="10">${start}-${end}</text></g>`
  for (const child of children) yield * boxesBelow(child)
}
