// A test that loops over no vectors passes silently. With this counter it reports how many cases it checked, or fails.

/**
 * Counts the cases of one section within the surrounding `describe`.
 *
 * @param {string} section
 * @param {string} [kernel]
 * @returns {(cases?: number) => void}
 */
export function counter (section, kernel) {
  let total = 0
  after(() => {
    const name = kernel ? `${section} (${kernel})` : section
    console.log(`    vectors: ${name} ${total} cases`)
    if (total === 0) throw new Error(`${name} checked no case`)
  })
  return (cases = 1) => { total += cases }
}
