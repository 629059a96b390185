// A store that is not a BlobStore: a plain object with the calls of the interface, which passes them on.

const CALLS = [
  'put', 'putMany', 'get', 'getMany', 'bytes', 'stream', 'source', 'slice', 'outboard', 'receive', 'missing', 'has',
  'stat', 'statMany', 'list', 'delete', 'deleteMany', 'resolve', 'tempTag', 'gc', 'fsck', 'info', 'watch', 'close'
]
const OF_TAGS = ['set', 'add', 'setMany', 'get', 'delete', 'rename', 'list']
const OF_ALIASES = ['resolve', 'resolveMany', 'of', 'add', 'delete', 'list']
const PROPERTIES = ['closing', 'location', 'isReadOnly', 'quota', 'verifies', 'syncReads']

/**
 * @param {object} store
 * @param {string[]} [more]  calls that the interface does not have
 * @returns {{ plain: object, called: Set<string> }} `called`: the names of all calls that were made
 */
export function plainStore (store, more = []) {
  const called = /** @type {Set<string>} */ (new Set())
  const passing = (target, calls, prefix = '') => Object.fromEntries(calls.map(call => [call, (...args) => {
    called.add(prefix + call)
    return target[call](...args)
  }]))
  const plain = {
    ...passing(store, [...CALLS, ...more]),
    ...Object.fromEntries(PROPERTIES.map(name => [name, store[name]])),
    tags: passing(store.tags, OF_TAGS, 'tags.'),
    aliases: passing(store.aliases, OF_ALIASES, 'aliases.')
  }
  return { plain, called }
}
