// All targets, in the order in which they are run.
import audits from './audits.js'
import collections from './collections.js'
import damage from './damage.js'
import entries from './entries.js'
import far from './far.js'
import hashers from './hashers.js'
import parsers from './parsers.js'
import proofs from './proofs.js'
import readers from './readers.js'
import senders from './senders.js'
import servers from './servers.js'
import slices from './slices.js'
import store from './store.js'

/** @type {import('../engine.js').Target[]} */
export const targets = [
  ...slices, ...far, ...readers, ...senders, ...audits, ...proofs, ...parsers, ...hashers, ...store, ...entries,
  ...damage, ...servers, ...collections
]
