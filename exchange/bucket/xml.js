// Reads the XML of buckets: a small and strict part of XML. There are elements, text, the five entities and characters
// by their numbers. Attributes are ignored. Document types, other entities, CDATA and comments are refused: no bucket
// sends them, and document types are how XML attacks its readers. Source: XML 1.0, fifth edition.

/**
 * @typedef {object} Element
 * @property {string} name  without the prefix of a namespace
 * @property {string} text  the text in it, outside of the elements in it
 * @property {Element[]} children
 */

/** How deep elements may be inside each other. Answers of buckets have at most four levels. */
const MAX_DEPTH = 16
/**
 * How many elements a document may have, because each takes a hundred bytes of memory. A list of 1000 keys has up to
 * 15 000.
 */
const MAX_ELEMENTS = 1 << 16
const ENTITIES = /** @type {Record<string, string>} */ ({ lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" })
/** A tag, with its name and what follows the name. Quoted values of attributes may contain `>`. */
const TAG = /<(\/?)([A-Za-z_][\w.:-]*)((?:\s+[\w.:-]+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*(\/?)>/y
const DECLARATION = /^\ufeff?(?:<\?xml\s[^?<>]*\?>)?\s*/

/**
 * Parses a document. It takes time in proportion to the length of the text.
 *
 * @param {string} text
 * @returns {Element} the outermost element
 * @throws {SyntaxError} that says what is wrong, and where
 */
export function parseXml (text) {
  /** @type {Element} */
  const document = { name: '', text: '', children: [] }
  const open = [document]
  const names = ['']
  let count = 0
  let at = /** @type {RegExpExecArray} */ (DECLARATION.exec(text))[0].length
  while (at < text.length) {
    const current = open[open.length - 1]
    if (text[at] !== '<') {
      const next = text.indexOf('<', at)
      const end = next < 0 ? text.length : next
      const part = decoded(text.slice(at, end), at)
      if (open.length === 1 && part.trim() !== '') throw fault('text outside of the document', at)
      current.text += part
      at = end
      continue
    }
    TAG.lastIndex = at
    const match = TAG.exec(text)
    if (match === null) throw fault('expected a tag', at)
    const [tag, slash, fullName, , selfEnd] = match
    if (slash !== '') {
      if (open.length === 1 || names.pop() !== fullName || tag.slice(2, -1).trim() !== fullName) {
        throw fault(`</${fullName}> does not end an element`, at)
      }
      open.pop()
    } else {
      if (open.length > MAX_DEPTH) throw fault('too many levels', at)
      if (++count > MAX_ELEMENTS) throw fault('too many elements', at)
      if (open.length === 1 && document.children.length > 0) throw fault('a second document', at)
      const element = { name: fullName.slice(fullName.indexOf(':') + 1), text: '', children: [] }
      current.children.push(element)
      if (selfEnd === '') {
        open.push(element)
        names.push(fullName)
      }
    }
    at += tag.length
  }
  if (open.length > 1) throw fault(`the end of <${open[open.length - 1].name}> is missing`, at)
  if (document.children.length === 0) throw fault('no element', at)
  return document.children[0]
}

/** The text of the only child with a name; undefined if there is none. @param {Element} element @param {string} name */
export const textIn = (element, name) => element.children.find(child => child.name === name)?.text

/** Escapes a text for XML. @param {string} text */
export const escaped = text => text.replace(/[<>&"']/g, char => `&#${char.charCodeAt(0)};`)

/** @param {string} text @param {number} at */
function decoded (text, at) {
  if (!text.includes('&')) return text
  return text.replace(/&([^;&]{0,8});|&/g, (all, name) => {
    const char = name === undefined ? undefined : ENTITIES[name] ?? numbered(name)
    if (char === undefined) throw fault(`${JSON.stringify(all)} is no entity that is known here`, at)
    return char
  })
}

/** The character of a number like `#38` or `#x26`; undefined if there is none. @param {string} name */
function numbered (name) {
  const [, decimal, hex] = /^#(?:(\d+)|x([\da-fA-F]+))$/.exec(name) ?? []
  if (decimal === undefined && hex === undefined) return undefined
  const code = decimal === undefined ? parseInt(hex, 16) : Number(decimal)
  const isChar = code > 0 && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF)
  return isChar ? String.fromCodePoint(code) : undefined
}

/** @param {string} what @param {number} at */
const fault = (what, at) => new SyntaxError(`XML at character ${at}: ${what}`)
