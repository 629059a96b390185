// The collector of garbage, and one that merges the epochs of collectors.
import { RULES, go } from './actor.js'
import { create, list, remove } from './bucket.js'
import { blobOf, epochsIn, highest, nextFolder, versionOf } from './protocol.js'

/** @typedef {import('./actor.js').Actor} Actor */

/**
 * Collects garbage in one epoch. Any key may be old enough, or not.
 *
 * @param {{ who: string, tags: string[] }} options  `tags`: the names, each of which is a page of the listing
 * @returns {Actor}
 */
export function collector ({ who, tags }, rules = RULES) {
  /** Returns, for each version of a tag that protects something, the blob that it names, followed by its members. */
  const pathsOf = listing => {
    const top = highest(listing.filter(({ value }) => !value.void))
    return listing.filter(({ key }) => rules.everyVersionProtects || versionOf(key) === top)
      .flatMap(({ value }) => value.blobs ? [value.blobs] : [])
  }
  const unreached = (keys, reached) => keys.filter(key => !reached.includes(blobOf(key)))

  /** The places that mark: they list each tag, and then read each sequence. `next` goes on with what is reached. */
  const marking = (mark, follow, next) => ({
    [mark]: {
      ask: ({ page }) => list(`tags/${tags[page]}/`),
      then: (self, listing) => {
        const paths = distinct([...self.paths, ...pathsOf(listing)])
        if (self.page + 1 < tags.length) return { ...self, page: self.page + 1, paths }
        const { page, ...rest } = self
        return followed({ ...rest, at: follow, paths, reached: distinct(paths.map(([blob]) => blob)) }, next)
      }
    },
    [follow]: {
      ask: ({ paths }) => list(`blobs/${paths[0][0]}`),
      then: (self, listing) => {
        const [[sequence, ...members], ...paths] = self.paths
        const isThere = self.seen?.includes(sequence) ?? listing.length > 0
        return followed({ ...self, paths, reached: distinct([...self.reached, ...isThere ? members : []]) }, next)
      }
    }
  })

  /** Goes to the next sequence, or on if there is none. */
  function followed (self, next) {
    const { paths, reached, ...rest } = self
    const sequences = paths.filter(({ length }) => length > 1)
    return sequences.length > 0 ? { ...rest, paths: sequences, reached } : next({ ...rest, reached })
  }

  const atDone = epoch => go(who, 'done', { epoch })
  const sweep = (epoch, keys) => keys.length > 0 ? go(who, 'sweep', { epoch, keys }) : atDone(epoch)

  /** @type {Actor['program']} */
  const program = {
    epochs: {
      ask: () => list('gc/'),
      then: (_, listing, { week }) => {
        const epochs = epochsIn(listing)
        const last = epochs.at(-1) ?? { done: {} }
        // An epoch that is not done may have begun more than a day ago, or not.
        const choices = [go(who, 'begin', { epoch: { folder: nextFolder(epochs, who, rules), since: week } })]
        if (last.done) return choices
        const { folder, begin, dead, final } = last
        if (begin && !(rules.epochWeek && week > begin.week)) {
          const epoch = { folder, since: begin.week }
          if (final) choices.push({ ...sweep(epoch, final.keys), note: `it finishes epoch ${folder}` })
          else if (dead) choices.push({ ...go(who, 'give up', { epoch }), note: `it gives up epoch ${folder}` })
        }
        return [...choices, { ...go(who, 'end'), note: 'it leaves the epoch to others' }]
      }
    },
    begin: {
      ask: beginning(who),
      then: ({ epoch }, isOwn) => isOwn ? go(who, 'list blobs', { epoch }) : go(who, 'end')
    },
    'list blobs': {
      ask: () => list('blobs/'),
      then: ({ epoch }, listing) =>
        go(who, 'list tags', { epoch, keys: listing.map(({ key }) => key), page: 0, paths: [] })
    },
    ...marking('list tags', 'follow', ({ epoch, keys, reached }) => {
      const seen = rules.followsAgain ? {} : { seen: distinct(keys.map(blobOf)) }
      return subsets(unreached(keys, reached)).map(keys => keys.length > 0
        ? go(who, 'dead', { epoch, keys, ...seen })
        : atDone(epoch))
    }),
    dead: {
      ask: ({ epoch, keys }) => create(`gc/${epoch.folder}/dead`, { by: who, keys }),
      then: ({ epoch, keys, seen }) => rules.collectorLooksAgain
        ? go(who, 'list tags again', { epoch, keys, page: 0, paths: [], ...seen && { seen } })
        : go(who, 'final', { epoch, keys })
    },
    ...marking('list tags again', 'follow again', ({ epoch, keys, reached }) =>
      go(who, 'final', { epoch, keys: unreached(keys, reached) })),
    final: {
      ask: ({ epoch, keys }) => create(`gc/${epoch.folder}/final`, { by: who, keys }),
      then: ({ epoch, keys }, isOwn) => isOwn || !rules.ownFinal ? sweep(epoch, keys) : go(who, 'end')
    },
    'give up': {
      ask: ({ epoch }) => create(`gc/${epoch.folder}/final`, { by: who, keys: [] }),
      then: ({ epoch }, isOwn) => isOwn ? atDone(epoch) : go(who, 'end')
    },
    sweep: {
      ask: ({ keys }) => remove(keys[0]),
      then: ({ epoch, keys: [, ...keys] }) => sweep(epoch, keys)
    },
    done: {
      ask: ({ epoch }) => create(`gc/${epoch.folder}/done`, {}),
      then: () => go(who, 'end')
    }
  }
  return { start: go(who, 'epochs'), program, isOver: isOver(rules) }
}

const beginning = who => ({ epoch: { folder } }) => bucket =>
  create(`gc/${folder}/begin`, { by: who, week: bucket.week })(bucket)

/** True if a week has passed since the epoch has begun of one that works for it. */
const isOver = rules => ({ week }, { epoch }) => rules.epochWeek && epoch !== undefined && epoch.since < week

/**
 * Makes one epoch of those that are done, and removes their folders. With the same keys, nothing is condemned that was
 * not, and nobody may rely on it for as long.
 *
 * @param {{ who: string, times?: number }} options  `times`: how often it does so
 * @returns {Actor}
 */
export function merger ({ who, times = 1 }, rules = RULES) {
  const removing = ({ epoch, keys, objects, times }) => {
    if (objects.length > 0) return go(who, 'remove', { epoch, keys, objects, times })
    if (rules.mergedFirst) return times > 1 ? go(who, 'epochs', { times: times - 1 }) : go(who, 'end')
    return go(who, 'final', { epoch, keys, objects, times })
  }
  /** @type {Actor['program']} */
  const program = {
    epochs: {
      ask: () => list('gc/'),
      then: ({ times }, listing, { week }) => {
        const epochs = epochsIn(listing)
        const merged = epochs.filter(({ begin, final, done }) =>
          begin && final && done && !(rules.freshMerged && begin.week < week) &&
          (!rules.givenUpStay || final.keys.length > 0))
        if (merged.length === 0) return go(who, 'end')
        const objects = merged.flatMap(epoch => ['begin', 'dead', 'final', 'done'].filter(name => epoch[name])
          .map(name => `gc/${epoch.folder}/${name}`))
        const keys = distinct(merged.flatMap(({ final }) => final.keys))
        const epoch = { folder: nextFolder(epochs, who, rules), since: week }
        return go(who, 'begin', { epoch, keys, objects, times })
      }
    },
    begin: {
      ask: beginning(who),
      then: (self, isOwn) => {
        if (!isOwn) return go(who, 'end')
        return rules.mergedFirst ? { ...self, at: 'final' } : removing(self)
      }
    },
    final: {
      ask: ({ epoch, keys }) => create(`gc/${epoch.folder}/final`, { by: who, keys }),
      then: self => ({ ...self, at: 'done' })
    },
    done: {
      ask: ({ epoch }) => create(`gc/${epoch.folder}/done`, {}),
      then: self => rules.mergedFirst ? removing(self) : go(who, 'end')
    },
    remove: {
      ask: ({ objects }) => remove(objects[0]),
      then: ({ objects: [, ...objects], ...self }) => removing({ ...self, objects })
    }
  }
  return { start: go(who, 'epochs', { times }), program, isOver: isOver(rules) }
}

/** @template T @param {T[]} list @returns {T[]} sorted */
const distinct = list => [...new Map(list.map(item => [`${item}`, item])).entries()]
  .sort(([a], [b]) => a < b ? -1 : 1).map(([, item]) => item)

/** Returns every subset of a list, the whole list first. */
const subsets = list => list.length === 0
  ? [[]]
  : subsets(list.slice(1)).flatMap(rest => [[list[0], ...rest], rest])
