// The links of Markdown pages, and the anchors that GitHub gives to their headings.

import { posix } from 'node:path'

/** Blocks between fences. A heading or link in one of them is an example. */
const FENCED = /^( *)(```+|~~~+)[^\n]*\n(?:[^]*?\n)?\1\2 *$/gm
const CODE = /(`+)(?:(?!\n\n)[^`])+\1/g

const withoutBlocks = text => text.replace(FENCED, '')

/**
 * @param {string} path  of the page, from the top of the repository
 * @param {string} text  of the page
 * @returns {{ target: string, path: string, anchor: string }[]} its relative links: as written; the file or folder to
 *   which it leads, from the top of the repository, `../...` outside of it; the anchor there, or ''
 */
export function linksOf (path, text) {
  const prose = withoutBlocks(text).replace(CODE, '')
  const targets = [...prose.matchAll(/\]\(([^)\s]+)(?: "[^"]*")?\)|\b(?:href|src)="([^"]+)"/g)]
    .map(([, inMarkdown, inHtml]) => inMarkdown ?? inHtml)
  return targets.filter(target => !/^[a-z][a-z+.-]*:/i.test(target)).map(target => {
    const [file, anchor = ''] = target.split('#')
    return { target, path: file === '' ? path : posix.join(posix.dirname(path), decodeURI(file)), anchor }
  })
}

/** @param {string} text  of a page @returns {string[]} the anchors of its headings */
export function anchorsOf (text) {
  const counts = new Map()
  return [...withoutBlocks(text).matchAll(/^#{1,6} +(.*?)(?: +#+)? *$/gm)].map(([, heading]) => {
    const anchor = anchorOf(heading)
    const count = counts.get(anchor) ?? 0
    counts.set(anchor, count + 1)
    return count === 0 ? anchor : `${anchor}-${count}`
  })
}

/** @param {string} heading  in Markdown @returns {string} its anchor, if no heading before it has the same one */
export const anchorOf = heading => heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase()
  .replace(/[^\p{L}\p{M}\p{N}\p{Pc} -]/gu, '').replace(/ /g, '-')

const CONTENTS = /(?<=^<!-- contents -->\n)[^]*?(?=^<!-- \/contents -->$)/m
const MAX_LINE = 120

/**
 * @param {string} text  of a page, with a place for its contents: between `<!-- contents -->` and `<!-- /contents -->`
 * @returns {string} the page with links to its sections there. If there are subsections about names, as in a reference,
 *   it is a table with links to them
 */
export function withContents (text) {
  const sections = /** @type {{ link: string, names: string[] }[]} */ ([])
  for (const [, { length: level }, title] of withoutBlocks(text).matchAll(/^(#+) +(.*)$/gm)) {
    const linkOf = name => `[${name}](#${anchorOf(title)})`
    const [, name] = /^`(?:class )?([\w$]+)/.exec(title) ?? []
    if (level === 2) sections.push({ link: linkOf(title), names: [] })
    else if (level === 3 && name !== undefined) sections.at(-1).names.push(linkOf(`\`${name}\``))
  }
  const rows = sections.map(({ link, names }) => `| ${link} | ${names.join(', ')} |`)
  const isReference = sections.some(({ names }) => names.length > 0)
  const table = ['| section | names |', '| --- | --- |', ...rows]
  const lines = isReference ? table : wrapped(sections.map(({ link }) => link))
  return text.replace(CONTENTS, () => `${lines.join('\n')}\n`)
}

/** @param {string[]} links @returns {string[]} lines with all of them */
function wrapped (links) {
  const lines = []
  for (const link of links) {
    const line = `${lines.at(-1)} · ${link}`
    if (lines.length > 0 && `${line} ·`.length <= MAX_LINE) lines.splice(-1, 1, line)
    else lines.push(link)
  }
  return lines.map((line, i) => i < lines.length - 1 ? `${line} ·` : line)
}
