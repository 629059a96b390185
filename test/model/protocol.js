// What the actors of the protocol read in a listing of the bucket: pure functions, in the words of docs/decisions/0046.

/** @typedef {{ key: string, value: any }} Entry */

/** @param {string} key  for example `blobs/h.A1` @returns {string} the blob whose bytes are under the key */
export const blobOf = key => key.slice('blobs/'.length).split('.')[0]

/** @param {Entry[]} listing  of the versions of one tag @returns {number} the highest version, or 0 */
export const highest = listing => Math.max(0, ...listing.map(({ key }) => versionOf(key)))

/** @param {string} key  of a version of a tag, for example `tags/a/1` @returns {number} */
export const versionOf = key => Number(key.split('/')[2])

/**
 * @typedef {object} Epoch
 * @property {number} number
 * @property {{ by: string, week: number }} [begin]
 * @property {{ keys: string[] }} [dead]
 * @property {{ keys: string[] }} [final]
 * @property {object} [done]
 */

/** @param {Entry[]} listing  of `gc/` @returns {Epoch[]} in order */
export function epochsIn (listing) {
  const epochs = new Map()
  for (const { key, value } of listing) {
    const [, number, name] = key.split('/')
    if (!epochs.has(number)) epochs.set(number, { number: Number(number) })
    epochs.get(number)[name] = value
  }
  return [...epochs.values()]
}

/**
 * Returns the keys that nobody may rely on: `final` of each epoch, or its `dead` while there is no `final`.
 *
 * @param {Entry[]} listing  of `gc/`
 */
export const condemnedIn = listing => [...new Set(epochsIn(listing).flatMap(({ dead, final }) =>
  (final ?? dead)?.keys ?? []))].sort()
