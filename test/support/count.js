// A vector test that loops over nothing passes without a word. This makes it say how much it checked, or fail.

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
    if (total === 0) throw new Error(`${name} checked no case at all`)
  })
  return (cases = 1) => { total += cases }
}
