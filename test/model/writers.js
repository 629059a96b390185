// Those that change tags: a writer, a deleter, and one that breaks a rule.
import { RULES, go } from './actor.js'
import { create, list, put, remove } from './bucket.js'
import { blobOf, condemnedIn, highest, versionOf } from './protocol.js'

/** @typedef {import('./actor.js').Actor} Actor */

/**
 * Writes a tag on some blobs: on one, or on a sequence and its members.
 *
 * @param {{ who: string, tag: string, blobs: string[], hasBytes: boolean, tries?: number }} options  `hasBytes`: it
 *   can put the blobs; otherwise it tags what others have put. `tries`: how often it tries to win the tag
 * @returns {Actor}
 */
export function writer ({ who, tag, blobs, hasBytes, tries = 1 }, rules = RULES) {
  const versions = `tags/${tag}/`
  /** The condemned keys of its blobs. */
  const condemned = listing =>
    condemnedIn(rules.deadCounts ? listing : listing.filter(({ key }) => !key.endsWith('/dead')))
      .filter(key => blobs.includes(blobOf(key)))
  /** A name for the bytes. A condemned name gets an id that nobody has used: a real writer draws it at random. */
  const nameFor = (blob, { gone, since }) => rules.newNames && gone.includes(`blobs/${blob}`)
    ? `blobs/${blob}.${who}${since}${gone.filter(key => key.includes('.')).length}`
    : `blobs/${blob}`
  const value = { by: who, cid: blobs[0], blobs }

  /** After the keys are known: either the tag is to be written, or it is there and `gc/` is to be read again. */
  const found = ({ keys, version, lower, since, tries }) => {
    if (!version) return go(who, 'list tag', { keys, since, tries })
    return rules.newNames
      ? go(who, 'look again', { keys, version, lower, since })
      : acknowledged({ who, tag, version, blobs, lower })
  }
  const withKey = (self, key) => {
    const keys = [...self.keys, key]
    return keys.length === blobs.length ? found({ ...self, keys }) : { ...self, at: 'find', keys }
  }
  const finding = (self, gone, since) => go(who, 'find', { ...remembered(self), keys: [], gone, since })
  const remembered = ({ version, lower, tries }) => version ? { version, lower } : { tries }
  const written = ({ keys, version, lower, since }) => rules.writerLooksAgain
    ? go(who, 'look again', { keys, version, lower, since })
    : acknowledged({ who, tag, version, blobs, lower })

  /** @type {Actor['program']} */
  const program = {
    look: {
      ask: () => list('gc/'),
      then: (self, listing, { week }) => finding(self, condemned(listing), week)
    },
    find: {
      ask: ({ keys }) => list(`blobs/${blobs[keys.length]}`),
      then: (self, listing) => {
        const usable = listing.map(({ key }) => key).filter(key => !self.gone.includes(key))
        if (usable.length > 0) return usable.map(key => withKey(self, key))
        if (hasBytes) return { ...self, at: 'put' }
        return self.version
          ? go(who, 'take back', { version: self.version })
          : go(who, 'end', { note: 'it is not there, and fails' })
      }
    },
    put: {
      ask: self => put(nameFor(blobs[self.keys.length], self), {}),
      then: self => withKey(self, nameFor(blobs[self.keys.length], self))
    },
    'list tag': {
      ask: () => list(versions),
      then: ({ keys, since, tries }, listing) => go(who, 'create', { keys, ...above(listing), since, tries })
    },
    create: {
      ask: ({ version }) => create(`${versions}${version}`, value),
      then: (self, isOwn) => {
        if (!isOwn) return go(who, 'list tag', { keys: self.keys, since: self.since, tries: self.tries })
        return rules.tagListedAgain ? { ...self, at: 'list again' } : written(self)
      }
    },
    'list again': {
      ask: () => list(versions),
      then: (self, listing) => highest(listing) > self.version ? { ...self, at: 'lost' } : written(self)
    },
    lost: {
      ask: ({ version }) => remove(`${versions}${version}`),
      then: ({ keys, since, tries }) => tries > 1
        ? go(who, 'list tag', { keys, since, tries: tries - 1 })
        : go(who, 'end', { note: 'the put fails, because the tag has changed' })
    },
    'look again': {
      ask: () => list('gc/'),
      then: (self, listing, { week }) => {
        const { keys, version, lower, since } = self
        const gone = condemned(listing)
        const isStale = rules.writerWeek && week > since
        if (!isStale && !keys.some(key => gone.includes(key))) {
          return acknowledged({ who, tag, version, blobs, lower })
        }
        return { ...finding(self, gone, week), note: isStale ? 'a week has passed' : 'a key is condemned' }
      }
    },
    'take back': {
      ask: () => list(versions),
      then: ({ version }, listing) => highest(listing) > version || !rules.voidVersions
        ? go(who, 'drop', { version })
        : go(who, 'void', { version, top: highest(listing) + 1 })
    },
    void: {
      ask: ({ top }) => create(`${versions}${top}`, { by: who, void: true }),
      then: ({ version }, isOwn) => isOwn ? go(who, 'drop', { version }) : go(who, 'take back', { version })
    },
    drop: {
      ask: ({ version }) => remove(`${versions}${version}`),
      then: () => go(who, 'end', { note: 'the put fails with STORE_CONDEMNED' })
    },
    tidy: tidying(tag)
  }
  return { start: go(who, 'look', { tries }), program }
}

/**
 * Sets a tag to nothing.
 *
 * @param {{ who: string, tag: string, tries?: number }} options
 * @returns {Actor}
 */
export function deleter ({ who, tag, tries = 1 }) {
  const versions = `tags/${tag}/`
  /** @type {Actor['program']} */
  const program = {
    'list tag': {
      ask: () => list(versions),
      then: ({ tries }, listing) => go(who, 'create', { ...above(listing), tries })
    },
    create: {
      ask: ({ version }) => create(`${versions}${version}`, { by: who, deleted: true }),
      then: (self, isOwn) => isOwn ? { ...self, at: 'list again' } : go(who, 'list tag', { tries: self.tries })
    },
    'list again': {
      ask: () => list(versions),
      then: (self, listing) => highest(listing) > self.version
        ? { ...self, at: 'lost' }
        : acknowledged({ who, tag, version: self.version, blobs: [], lower: self.lower })
    },
    lost: {
      ask: ({ version }) => remove(`${versions}${version}`),
      then: ({ tries }) => tries > 1 ? go(who, 'list tag', { tries: tries - 1 }) : go(who, 'end')
    },
    tidy: tidying(tag)
  }
  return { start: go(who, 'list tag', { tries }), program }
}

/** The version to create, and those below it. */
const above = listing => ({ version: highest(listing) + 1, lower: listing.map(({ key }) => versionOf(key)) })

/** What was acknowledged stays in the state of the actor: the promise is about it. */
const acknowledged = ({ who, tag, version, blobs, lower }) => {
  const acked = { tag, version, blobs }
  const next = lower.length > 0 ? go(who, 'tidy', { lower, acked }) : go(who, 'end', { acked })
  return { ...next, note: 'it acknowledges' }
}

/** The deletion of lower versions, by the writer of an acknowledged one. */
const tidying = tag => ({
  ask: ({ lower }) => remove(`tags/${tag}/${lower[0]}`),
  then: ({ who, lower: [, ...lower], acked }) => lower.length > 0
    ? go(who, 'tidy', { lower, acked })
    : go(who, 'end', { acked })
})

/**
 * Deletes lower versions of a tag at any time, as the first design did when they were an hour old. It is not a part of
 * the protocol: it breaks the rule that only the writer of an acknowledged version deletes lower ones.
 *
 * @param {{ who: string, tag: string }} options @returns {Actor}
 */
export function tidier ({ who, tag }) {
  return {
    start: go(who, 'list tag'),
    program: {
      'list tag': {
        ask: () => list(`tags/${tag}/`),
        then: (_, listing) => {
          const lower = listing.map(({ key }) => versionOf(key)).filter(version => version < highest(listing))
          return lower.length > 0 ? go(who, 'tidy', { lower }) : go(who, 'end')
        }
      },
      tidy: tidying(tag)
    }
  }
}
