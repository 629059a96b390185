// The collector of garbage.
import { RULES, go } from './actor.js'
import { create, list, remove } from './bucket.js'
import { blobOf, epochsIn, highest, versionOf } from './protocol.js'

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
        const last = epochs.at(-1) ?? { number: 0, done: {} }
        // An epoch that is not done may have begun more than a day ago, or not.
        const choices = [go(who, 'begin', { epoch: last.number + 1 })]
        if (last.done) return choices
        if (last.final && last.begin && !(rules.epochWeek && week > last.begin.week)) {
          choices.push({ ...sweep(last.number, last.final.keys), note: `it finishes epoch ${last.number}` })
        }
        return [...choices, { ...go(who, 'end'), note: 'it leaves the epoch to others' }]
      }
    },
    begin: {
      ask: ({ epoch }) => bucket => create(`gc/${epoch}/begin`, { by: who, week: bucket.week })(bucket),
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
      ask: ({ epoch, keys }) => create(`gc/${epoch}/dead`, { by: who, keys }),
      then: ({ epoch, keys, seen }) => rules.collectorLooksAgain
        ? go(who, 'list tags again', { epoch, keys, page: 0, paths: [], ...seen && { seen } })
        : go(who, 'final', { epoch, keys })
    },
    ...marking('list tags again', 'follow again', ({ epoch, keys, reached }) =>
      go(who, 'final', { epoch, keys: unreached(keys, reached) })),
    final: {
      ask: ({ epoch, keys }) => create(`gc/${epoch}/final`, { by: who, keys }),
      then: ({ epoch, keys }) => sweep(epoch, keys)
    },
    sweep: {
      ask: ({ keys }) => remove(keys[0]),
      then: ({ epoch, keys: [, ...keys] }) => sweep(epoch, keys)
    },
    done: {
      ask: ({ epoch }) => create(`gc/${epoch}/done`, {}),
      then: () => go(who, 'end')
    }
  }
  const isOver = ({ objects, week }, { at, epoch }) => rules.epochWeek && epoch !== undefined && at !== 'begin' &&
    (objects[`gc/${epoch}/begin`]?.week ?? -1) < week
  return { start: go(who, 'epochs'), program, isOver }
}

/** @template T @param {T[]} list @returns {T[]} sorted */
const distinct = list => [...new Map(list.map(item => [`${item}`, item])).entries()]
  .sort(([a], [b]) => a < b ? -1 : 1).map(([, item]) => item)

/** Returns every subset of a list, the whole list first. */
const subsets = list => list.length === 0
  ? [[]]
  : subsets(list.slice(1)).flatMap(rest => [[list[0], ...rest], rest])
