// A location belongs to one store at a time. LevelDB sees to that with a file; IndexedDB lets every page in, so there a lock of the browser does:
// two stores would give the same ids to different blobs, and each would sweep away what the other is putting.

/** The locks that pages of one origin share; undefined elsewhere, and where a browser does not give them: on pages that came without TLS. */
const locks = () => 'indexedDB' in globalThis ? globalThis.navigator?.locks : undefined

/**
 * @param {string} location
 * @returns {Promise<(() => Promise<void>) | undefined>} lets it go; undefined when somebody else has it
 */
export async function hold (location) {
  const shared = locks()
  if (shared === undefined) return async () => {}
  let letGo = () => {}
  return new Promise((resolve, reject) => {
    const held = shared.request(`baobox ${location}`, { ifAvailable: true }, lock => {
      if (lock === null) return resolve(undefined)
      const end = /** @type {Promise<void>} */ (new Promise(_resolve => { letGo = _resolve }))
      resolve(async () => {
        letGo()
        await held
      })
      return end
    })
    held.catch(reject)
  })
}
