// Paints text on a terminal that shows colours.

/** Codes of ECMA-48, "Select graphic rendition": [on, off]. @type {Record<string, [number, number]>} */
const STYLES = { bold: [1, 22], red: [31, 39], green: [32, 39] }

/**
 * Text in a style. If the stream is not a terminal, or the user wants no colours (https://no-color.org), the text is
 * returned unchanged.
 *
 * @param {'bold' | 'red' | 'green'} style
 * @param {string} text
 * @param {{ isTTY?: boolean }} stream  where the text goes
 * @param {Record<string, string | undefined>} [env]
 */
export function paint (style, text, stream, env = process.env) {
  if (!stream.isTTY || env.NO_COLOR || env.TERM === 'dumb') return text
  const [on, off] = STYLES[style]
  return `\x1b[${on}m${text}\x1b[${off}m`
}
