// Explores a scenario: its actors share a bucket, with late deletes and with weeks that pass. In no state may anything
// be lost that was acknowledged. After every end, more epochs must delete all garbage.
import { RULES, stepsOf } from './actor.js'
import { arrivals, bucketOf, without } from './bucket.js'
import { collector, merger } from './collector.js'
import { explore } from './explore.js'
import { blobOf, condemnedIn, deletedIn, epochsIn, versionOf } from './protocol.js'
import { deleter, tidier, writer } from './writers.js'

const MAKERS = { writer, deleter, collector, merger, tidier }

/**
 * @typedef {object} Scenario
 * @property {string} title
 * @property {({ is: keyof typeof MAKERS, who: string } & Record<string, any>)[]} actors
 *   with the options of each
 * @property {Record<string, any>} objects  in the bucket at first
 * @property {import('./bucket.js').Late[]} [late]  the requests that have not arrived at first
 * @property {{ tag: string, version: number, blobs: string[] }[]} [acked]  what was acknowledged before
 * @property {number} [weeks]  how often a week may pass: then epochs are over, and their folders are removed
 * @property {number} [trouble]  how often an answer may be lost or a request be late. By default there is no limit.
 * @property {boolean} [lateWrites]  writes may be late, too, and not only deletes
 * @property {boolean} [crashes]  actors may crash between any two steps. Without it, too, every actor may stop for ever
 *   in each state that is checked; only the ends are different.
 */

/**
 * Explores a scenario.
 *
 * @param {Scenario} scenario
 * @param {{ rules?: Partial<typeof RULES>, maxStates?: number, onlyHighest?: boolean }} [options]
 *   `onlyHighest`: something is promised about a tag only while its highest version was acknowledged
 */
export function exploreScenario (scenario, options = {}) {
  const { actors, objects, late, acked = [], weeks = 0, trouble, lateWrites, crashes = false } = scenario
  const rules = { ...RULES, ...options.rules }
  const made = actors.map(({ is, ...rest }) => MAKERS[is](rest, rules))
  const processes = [
    ...made.map((actor, i) => ({ parts: [0, i + 1], steps: stepsOf(actor) })),
    { parts: [0], steps: arrivals },
    ...weeks > 0 ? [{ parts: [0], steps: passingWeek(weeks) }, { parts: [0], steps: forgetting }] : [],
    ...crashes ? made.map((_, i) => ({ parts: [i + 1], steps: crashing })) : []
  ]
  const promised = parts => lostOf(parts, acked, { ...options, rules })
  return explore({
    start: [bucketOf(objects, { late, trouble, lateWrites }), ...made.map(({ start }) => start)],
    processes,
    check: promised,
    checkEnd: parts => garbageAfter(parts, actors, rules, promised),
    maxStates: options.maxStates
  })
}

/** An actor crashes: it stops for ever, and what it has acknowledged is still promised. */
const crashing = self => self.at === 'end'
  ? []
  : [{ words: `${self.who} crashes`, values: [{ who: self.who, at: 'end', ...self.acked && { acked: self.acked } }] }]

/**
 * A week passes. No earlier request arrives any more, and a collector whose epoch is over takes no more steps. Writers
 * and deleters do not notice: they may sleep for weeks between any two steps.
 */
const passingWeek = weeks => bucket => bucket.week >= weeks
  ? []
  : [{ words: 'a week passes', values: [{ ...bucket, late: [], week: bucket.week + 1 }] }]

/** The next object is removed of an epoch that is over. `begin` is removed first. */
const forgetting = bucket => {
  return epochsIn(listingOf(bucket)).filter(({ begin }) => !begin || begin.week < bucket.week).map(epoch => {
    const name = ['begin', 'dead', 'final', 'done'].find(name => epoch[name])
    const key = `gc/${epoch.folder}/${name}`
    return { words: `${key} is removed, because the epoch is over`, values: [without(bucket, key)] }
  })
}

/** Says what was lost: the version of a tag that was acknowledged last, or the bytes that it relies on. */
function lostOf ([bucket, ...selves], given, { rules, onlyHighest }) {
  const there = contentOf(bucket, rules)
  const all = [...given]
  for (const { acked } of selves) if (acked) all.push(acked)
  for (const acked of all) {
    const { tag, version, blobs } = acked
    if (onlyHighest && [...there].some(key => key.startsWith(`tags/${tag}/`) && versionOf(key) > version)) continue
    if (all.some(other => other.tag === tag && other.version > version)) continue
    if (!there.has(`tags/${tag}/${version}`)) return `version ${version} of tag ${tag} was acknowledged, and is lost`
    const lost = blobs.find(blob => !there.has(blob))
    if (lost) return `version ${version} of tag ${tag} was acknowledged, and blob ${lost} is lost`
  }
}

const contents = new WeakMap()

/** Returns the keys of a bucket, and the names of the blobs whose bytes are there for a reader. */
function contentOf (bucket, { readersTakeDead }) {
  let content = contents.get(bucket)
  if (!content) {
    const keys = Object.keys(bucket.objects)
    const gone = (readersTakeDead ? deletedIn : condemnedIn)(listingOf(bucket))
    const blobs = keys.filter(key => key.startsWith('blobs/') && !gone.includes(key)).map(blobOf)
    content = new Set([...keys, ...blobs])
    contents.set(bucket, content)
  }
  return content
}

/** Returns the objects in `gc/`. */
const listingOf = ({ objects }) => Object.entries(objects).filter(([key]) => key.startsWith('gc/'))
  .map(([key, value]) => ({ key, value }))

/** Says which garbage is left after two more epochs, in which every key is old enough. */
function garbageAfter (parts, actors, rules, promised) {
  const tags = actors.find(({ is }) => is === 'collector')?.tags
  if (!tags) return
  let [bucket, ...selves] = parts
  for (const who of ['Y', 'Z']) {
    const { start, program } = collector({ who, tags }, rules)
    let self = start
    while (self.at !== 'end') [bucket, self] = stepsOf({ start, program })(bucket, self)[0].values
    const lost = promised([bucket, ...selves])
    if (lost) return `after one more epoch: ${lost}`
  }
  const { objects } = bucket
  const keys = Object.keys(objects)
  const reached = new Set(keys.filter(key => key.startsWith('tags/')).flatMap(key => objects[key].blobs ?? []))
  const left = keys.filter(key => key.startsWith('blobs/') && !reached.has(blobOf(key)))
  if (left.length > 0) return `garbage is left: ${left.join(', ')}`
}
