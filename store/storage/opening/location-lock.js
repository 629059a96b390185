// A location belongs to one store at a time. Among processes LevelDB sees to that with a file; but who tries that file in the process that has it
// loses it to the others, so it is not tried. IndexedDB lets every page in, so there a lock of the browser does: two stores would give the same ids
// to different blobs, and each would sweep away what the other is putting.

import { realPath } from '#disk'

/** What is held in this process. */
const held = /** @type {Set<string>} */ (new Set())

/** The locks that pages of one origin share; undefined elsewhere, and where a browser does not give them: on pages that came without TLS. */
const locks = () => 'indexedDB' in globalThis ? globalThis.navigator?.locks : undefined

/**
 * @param {string} location
 * @returns {Promise<(() => Promise<void>) | undefined>} lets it go; undefined when somebody else has it
 */
export async function hold (location) {
  const path = await realPath(location)
  if (held.has(path)) return undefined
  held.add(path)
  const letGo = async () => { held.delete(path) }
  try {
    const letGoOfShared = await holdShared(location)
    if (letGoOfShared !== undefined) return () => letGoOfShared().finally(letGo)
  } catch (error) {
    await letGo()
    throw error
  }
  await letGo()
  return undefined
}

/** @param {string} location @returns {Promise<(() => Promise<void>) | undefined>} */
async function holdShared (location) {
  const shared = locks()
  if (shared === undefined) return async () => {}
  let letGo = () => {}
  return new Promise((resolve, reject) => {
    const holding = shared.request(`baobox ${location}`, { ifAvailable: true }, lock => {
      if (lock === null) return resolve(undefined)
      const end = /** @type {Promise<void>} */ (new Promise(_resolve => { letGo = _resolve }))
      resolve(async () => {
        letGo()
        await holding
      })
      return end
    })
    holding.catch(reject)
  })
}
