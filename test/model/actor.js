// What all actors have in common. The program of an actor is a table of places. At a place it asks the bucket for one
// thing, and with the answer it goes to another place. What it remembers is in its state `{ who, at, ... }`, which has
// no more than the rest of the program needs, so that equal states are recognised.

/** The rules of the protocol that can be taken out: something is lost without any one of them. */
export const RULES = {
  /** A writer reads `gc/` again after it has written the tag. */
  writerLooksAgain: true,
  /** A collector lists the tags again after it has written `dead`. */
  collectorLooksAgain: true,
  /** Who creates a version of a tag lists the tag again: below a higher one, its version may be deleted at any time. */
  tagListedAgain: true,
  /** The keys in `dead` count as condemned while there is no `final`. */
  deadCounts: true,
  /** A name that was condemned is not used again. */
  newNames: true,
  /** Each version of a tag protects its blob, not only the highest one. */
  everyVersionProtects: true,
  /** A tag is taken back by a higher version that is void, so that no version is used twice. */
  voidVersions: true,
  /** A collector looks for the members of sequences again when it lists the tags again. */
  followsAgain: true,
  /** A writer whose two looks at `gc/` are more than a week apart looks again. */
  writerWeek: true,
  /** An epoch is over a week after its begin: nobody creates or deletes anything for it. */
  epochWeek: true,
  /** The folder of an epoch has an id, so that no epoch ever has the folder of another one. */
  epochIds: true,
  /** Who merges epochs publishes their keys before the folders are removed. */
  mergedFirst: true,
  /** Only epochs that are not over are merged. */
  freshMerged: true,
  /** A collector deletes nothing if another one has given its epoch up. */
  ownFinal: true,
  /** An epoch that was given up is not merged. */
  givenUpStay: true,
  /** A reader takes keys in `dead`, while there is no `final`. */
  readersTakeDead: true
}

/**
 * @typedef {object} Actor
 * @property {{ who: string, at: string }} start
 * @property {Record<string, { ask: (self: any) => (bucket: any) => any[], then: Function }>} program
 *   `then(self, answer, bucket)` returns the next state, or a list of states one of which is next
 * @property {(bucket: any, self: any) => boolean} [isOver]  whether the time for what it does is over: it stops
 */

/** Returns the steps of an actor, as a process over the bucket and the state of the actor. */
export const stepsOf = ({ program, isOver }) => (bucket, self) => {
  if (!program[self.at] || isOver?.(bucket, self)) return []
  const { ask, then } = program[self.at]
  return ask(self)(bucket).flatMap(({ words, bucket: after, answer }) => answer === undefined
    ? [{ words: `${self.who} ${words}`, values: [after, self] }]
    : [then(self, answer, after)].flat().map(next => ({
        words: `${self.who} ${words}${next.note ? `: ${next.note}` : ''}`,
        values: [after, withoutNote(next)]
      })))
}

const withoutNote = ({ note, ...state }) => state

/** The next state: what is remembered is given anew, in a fixed order. `note` is for the words of the step only. */
export const go = (who, at, memory = {}) => ({ who, at, ...memory })
