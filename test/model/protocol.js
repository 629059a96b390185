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
 * @property {string} folder  its number, and the actor that has begun it. A real folder has a random id in place of
 *   the actor
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
    const [, folder, name] = key.split('/')
    if (!epochs.has(folder)) epochs.set(folder, { folder, number: Number.parseInt(folder) })
    epochs.get(folder)[name] = value
  }
  return [...epochs.values()]
}

/** @param {Epoch[]} epochs @param {string} who @param {{ epochIds: boolean }} rules  @returns {string} a new folder */
export const nextFolder = (epochs, who, { epochIds }) =>
  `${(epochs.at(-1)?.number ?? 0) + 1}${epochIds ? `.${who}` : ''}`

/**
 * Returns the keys that nobody may rely on: `final` of each epoch, or its `dead` while there is no `final`. A folder
 * without `begin` condemns nothing.
 *
 * @param {Entry[]} listing  of `gc/`
 */
export const condemnedIn = listing => keysOf(listing, ({ dead, final }) => final ?? dead)

/**
 * Returns the keys that are not there any more for a reader: `final` of each epoch. While there is no `final`, a tag
 * that was acknowledged may rely on a key in `dead`.
 *
 * @param {Entry[]} listing  of `gc/`
 */
export const deletedIn = listing => keysOf(listing, ({ final }) => final)

/** @param {Entry[]} listing @param {(epoch: Epoch) => { keys: string[] } | undefined} choose */
const keysOf = (listing, choose) =>
  [...new Set(epochsIn(listing).flatMap(epoch => (epoch.begin && choose(epoch)?.keys) ?? []))].sort()
