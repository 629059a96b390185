// Copies rows and columns of the full tables in bench/results/ to the page that shows the headlines,
// docs/performance.md.
//
// An excerpt stands between `<!-- excerpt: BENCH | QUESTION | ROWS | COLUMNS -->` and `<!-- /excerpt -->`. Rows and
// columns are the names that the full table has, with semicolons between them; `*` takes all.

const EXCERPT = /(<!-- excerpt: ([^|\n]+) \| ([^|\n]+) \| ([^|\n]+) \| ([^|\n]+) -->\n)[^]*?(<!-- \/excerpt -->)/g

/**
 * @param {string} page  with places for excerpts
 * @param {string} results  the page with the full tables
 * @returns {string} the page, with its excerpts as the results have them
 * @throws {Error} that names the table, row or column that the results do not have
 */
export function withExcerpts (page, results) {
  return page.replace(EXCERPT, (_, begin, bench, question, rowNames, columnNames, end) => {
    const [head, line, ...rows] = tableOf(results, bench, question)
    const columns = indicesOf(head, namesIn(columnNames), `columns of "${question}"`)
    const kept = indicesOf(rows.map(row => row[0]), namesIn(rowNames), `rows of "${question}"`).map(i => rows[i])
    const shown = [head, line, ...kept].map(row => `| ${[row[0], ...columns.map(i => row[i])].join(' | ')} |`)
    return `${begin}${shown.join('\n')}\n${end}`
  })
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
  const [, tables] = results.split(`<!-- bench: ${bench} -->\n`)
  const [, after] = (tables ?? '').split('<!-- /bench -->')[0].split(`**${question}**\n\n`)
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
