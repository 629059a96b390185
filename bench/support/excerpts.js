// Copies rows and columns of the full tables in bench/results/ to the page that shows the headlines,
// docs/performance.md.
//
// An excerpt is between `<!-- excerpt: BENCH | QUESTION | ROWS | COLUMNS -->` and `<!-- /excerpt -->`. Rows and
// columns are the names in the full table, with semicolons between them; `*` means all. It comes from node-20.md,
// but `<!-- excerpt: BENCH | QUESTION | ROWS | COLUMN of all -->` shows one column of every page that has the table.

/** @typedef {Record<string, string>} Pages  texts in bench/results, by name without `.md` */

const EXCERPT = /(<!-- excerpt: ([^|\n]+) \| ([^|\n]+) \| ([^|\n]+) \| ([^|\n]+) -->\n)[^]*?(<!-- \/excerpt -->)/g
const USUAL = 'node-20'
const LINE = '--:'

/**
 * @param {string} page  with places for excerpts
 * @param {Pages} results  with the full tables
 * @returns {string} the page, with its excerpts filled from the results
 * @throws {Error} that names the table, row or column that is missing in the results
 */
export function withExcerpts (page, results) {
  return page.replace(EXCERPT, (_, begin, bench, question, rows, columns, end) => {
    const [, column] = /^(.*) of all$/.exec(columns) ?? []
    const excerpt = (/** @type {string} */ name, /** @type {string} */ columns) =>
      excerptOf(tableOf(results[name], bench, question), { rows, columns, of: question })
    const cells = column === undefined
      ? excerpt(USUAL, columns)
      : beside(pagesWith(results, bench, question).map(name => titled(titleOf(results[name]), excerpt(name, column))))
    return `${begin}${cells.map(row => `| ${row.join(' | ')} |`).join('\n')}\n${end}`
  })
}

/**
 * Some rows and columns of a table.
 *
 * @param {string[][]} table @param {{ rows: string, columns: string, of: string }} what  `of`: for errors
 */
function excerptOf ([head, line, ...rows], what) {
  const columns = indicesOf(head, namesIn(what.columns), `columns of "${what.of}"`)
  const kept = indicesOf(rows.map(row => row[0]), namesIn(what.rows), `rows of "${what.of}"`).map(i => rows[i])
  return [head, line, ...kept].map(row => [row[0], ...columns.map(i => row[i])])
}

/** A table of one column under another title. @param {string} title @param {string[][]} table */
const titled = (title, [, ...rows]) => [['', title], ...rows]

/** Joins the columns of tables with the same rows. @param {string[][][]} tables  at least one */
const beside = ([first, ...others]) =>
  first.map((row, i) => [...row, ...others.flatMap(table => i === 1 ? LINE : table[i].slice(1))])

/**
 * The pages that have a table: Node.js first, and older versions before newer ones.
 *
 * @param {Pages} results @param {string} bench @param {string} question
 */
function pagesWith (results, bench, question) {
  const order = new Intl.Collator('en', { numeric: true })
  const rank = (/** @type {string} */ name) => (name.startsWith('node') ? 0 : 1)
  const has = (/** @type {string} */ name) => tablesOf(results[name], bench).includes(`**${question}**`)
  return Object.keys(results).filter(has).sort((a, b) => rank(a) - rank(b) || order.compare(a, b))
}

/** The runtime in the title of a page. @param {string} results */
const titleOf = results => /^# Performance in (.*)$/m.exec(results)?.[1] ?? ''

/** The tables of one bench. @param {string} results @param {string} bench */
function tablesOf (results, bench) {
  const [, tables] = results.split(`<!-- bench: ${bench} -->\n`)
  return (tables ?? '').split('<!-- /bench -->')[0]
}

/**
 * The cells of one table.
 *
 * @param {string} results
 * @param {string} bench
 * @param {string} question
 * @returns {string[][]}
 */
function tableOf (results, bench, question) {
  const [, after] = tablesOf(results, bench).split(`**${question}**\n\n`)
  if (after === undefined) throw new Error(`the results have no table "${question}" of ${bench}`)
  return after.split('\n\n')[0].trim().split('\n').map(row => row.split('|').slice(1, -1).map(cell => cell.trim()))
}

/** @param {string} list @returns {string[] | undefined} undefined for all */
const namesIn = list => list.trim() === '*' ? undefined : list.split(';').map(name => name.trim())

/** @param {string[]} all @param {string[] | undefined} names @param {string} what @returns {number[]} */
function indicesOf (all, names, what) {
  if (names === undefined) return [...all.keys()].filter(i => all[i] !== '')
  return names.map(name => {
    const i = all.indexOf(name)
    if (i < 0) throw new Error(`the ${what} have no "${name}"`)
    return i
  })
}
