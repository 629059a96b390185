// What the explorer explores: who takes part, and what is in the bucket at first. The blobs are `h`, `y`, and the
// sequence `s` with its member `m`.

/** @typedef {import('./explore-scenario.js').Scenario} Scenario */

const writes = (who, tag, hasBytes, more = {}) => ({ is: 'writer', who, tag, hasBytes, blobs: ['h'], ...more })
const deletes = (who, tag, more = {}) => ({ is: 'deleter', who, tag, ...more })
const collects = (who, ...tags) => ({ is: 'collector', who, tags })
const merges = (who, more = {}) => ({ is: 'merger', who, ...more })
const SEQUENCE = { blobs: ['s', 'm'] }

/** An epoch that is done, in a folder. */
const done = (folder, ...keys) => ({
  [`gc/${folder}/begin`]: { by: 'X', week: 0 },
  [`gc/${folder}/dead`]: { by: 'X', keys },
  [`gc/${folder}/final`]: { by: 'X', keys },
  [`gc/${folder}/done`]: {}
})

/** A blob without a tag. */
const UNTAGGED = { objects: { 'blobs/h': {} } }
/** A blob whose tag was acknowledged. */
const TAGGED = {
  objects: { 'blobs/h': {}, 'tags/a/1': { by: 'X', cid: 'h', blobs: ['h'] } },
  acked: [{ tag: 'a', version: 1, blobs: ['h'] }]
}
/** The same, and another blob without a tag. */
const TAGGED_AND_OTHER = { ...TAGGED, objects: { 'blobs/y': {}, ...TAGGED.objects } }

/** @type {Scenario} */
const FORGOTTEN = {
  title: 'an epoch is merged, its folder may be removed, and its key be used again',
  objects: done('1.X', 'blobs/h'),
  weeks: 1,
  trouble: 0,
  actors: [writes('A', 'b', true), collects('C', 'b'), merges('M')]
}

/** @type {Scenario} */
const GIVEN_UP = {
  title: 'an epoch was given up, its `begin` and `final` are late, and epochs are merged',
  objects: {
    'blobs/h': {},
    ...done('1.X', 'blobs/y'),
    'gc/2.C/begin': { by: 'C', week: 0 },
    'gc/2.C/dead': { by: 'C', keys: ['blobs/h'] },
    'gc/2.C/final': { by: 'G', keys: [] },
    'gc/2.C/done': {}
  },
  late: [
    { key: 'gc/2.C/begin', value: { by: 'C', week: 0 }, ifAbsent: true },
    { key: 'gc/2.C/final', value: { by: 'C', keys: ['blobs/h'] }, ifAbsent: true }
  ],
  trouble: 0,
  actors: [writes('A', 'b', false), collects('E', 'b'), merges('M')]
}

/** @type {Scenario[]} */
export const SMALL = [
  {
    title: 'a writer tags a blob while its other tag is deleted and a collector runs',
    ...TAGGED,
    actors: [writes('A', 'b', true), deletes('D', 'a'), collects('C', 'a', 'b')]
  },
  {
    title: 'the same, and each may crash between any two steps',
    ...TAGGED,
    crashes: true,
    actors: [writes('A', 'b', true), deletes('D', 'a'), collects('C', 'a', 'b')]
  },
  {
    title: 'two writers set one tag, one of them without the bytes',
    ...UNTAGGED,
    actors: [writes('A', 'b', true), writes('B', 'b', false), collects('C', 'b')]
  },
  {
    title: 'two writers set two tags, one of them without the bytes',
    ...UNTAGGED,
    actors: [writes('A', 'b', true), writes('B', 'c', false), collects('C', 'b', 'c')]
  },
  {
    title: 'a tag is moved to another blob, by a writer that may have to take it back',
    ...TAGGED_AND_OTHER,
    actors: [writes('B', 'a', false, { blobs: ['y'] }), writes('A', 'a', true), collects('C', 'a')]
  },
  {
    title: 'a sequence is tagged by a writer without its bytes',
    objects: { 'blobs/m': {}, 'blobs/s': {} },
    actors: [writes('A', 'b', false, SEQUENCE), collects('C', 'b')]
  },
  {
    title: 'a sequence is put on a member that is there',
    objects: { 'blobs/m': {} },
    actors: [writes('A', 'b', true, SEQUENCE), collects('C', 'b')]
  },
  {
    title: 'a week passes at any time',
    ...UNTAGGED,
    weeks: 1,
    trouble: 0,
    actors: [writes('A', 'b', false), collects('C', 'b'), collects('E', 'b')]
  },
  {
    title: 'two epochs are merged, a delete of one is late, a writer puts the blob again, and each may crash',
    objects: { ...done('1.X', 'blobs/h'), ...done('2.X', 'blobs/y') },
    late: [{ key: 'blobs/h' }],
    trouble: 2,
    crashes: true,
    actors: [writes('A', 'b', true), merges('M')]
  },
  {
    title: 'epochs are merged while a writer tags a blob that a collector condemns, and one request is late or lost',
    objects: { 'blobs/h': {}, ...done('1.X', 'blobs/y') },
    trouble: 1,
    actors: [writes('A', 'b', true), collects('C', 'b'), merges('M', { times: 2 })]
  },
  GIVEN_UP
]

/** @type {Scenario[]} */
export const LARGE = [
  {
    title: 'a writer tags a blob while its other tag is deleted and two collectors run',
    ...TAGGED,
    actors: [writes('A', 'b', true), deletes('D', 'a'), collects('C', 'a', 'b'), collects('E', 'a', 'b')]
  },
  {
    title: 'a tag is set and deleted while two collectors run',
    ...TAGGED,
    actors: [writes('A', 'a', true), deletes('D', 'a'), collects('C', 'a'), collects('E', 'a')]
  },
  {
    title: 'two writers and a deleter change one tag while a collector runs',
    ...TAGGED,
    actors: [writes('A', 'a', true), writes('B', 'a', false), deletes('D', 'a'), collects('C', 'a')]
  },
  {
    title: 'a writer that loses tries again',
    ...TAGGED,
    actors: [writes('A', 'a', true, { tries: 2 }), deletes('D', 'a', { tries: 2 }), collects('C', 'a')]
  },
  {
    title: 'a tag is moved to another blob while two collectors run',
    ...TAGGED_AND_OTHER,
    actors: [writes('B', 'a', false, { blobs: ['y'] }), collects('C', 'a'), collects('E', 'a')]
  },
  {
    title: 'two writers and a deleter change one tag while two collectors run, and nothing is late or lost',
    ...TAGGED,
    trouble: 0,
    actors: [
      writes('A', 'a', true), writes('B', 'a', false), deletes('D', 'a'), collects('C', 'a'), collects('E', 'a')
    ]
  },
  {
    title: 'two writers set one tag and a deleter another while two collectors run, and nothing is late or lost',
    ...TAGGED,
    trouble: 0,
    actors: [
      writes('A', 'b', true), writes('B', 'b', false), deletes('D', 'a'),
      collects('C', 'a', 'b'), collects('E', 'a', 'b')
    ]
  },
  {
    title: 'a sequence is tagged by two writers, one of them without its bytes',
    objects: { 'blobs/m': {} },
    actors: [writes('A', 'b', true, SEQUENCE), writes('B', 'b', false, SEQUENCE), collects('C', 'b')]
  },
  {
    title: 'a sequence is tagged by a writer without its bytes while two collectors run',
    objects: { 'blobs/m': {}, 'blobs/s': {} },
    actors: [writes('A', 'b', false, SEQUENCE), collects('C', 'b'), collects('E', 'b')]
  },
  {
    title: 'a week passes at any time, and a writer has the bytes',
    ...UNTAGGED,
    weeks: 1,
    actors: [writes('A', 'b', true), collects('C', 'b'), collects('E', 'b')]
  },
  {
    title: 'a week passes at any time, and a writer has no bytes',
    ...UNTAGGED,
    weeks: 1,
    actors: [writes('A', 'b', false), collects('C', 'b'), collects('E', 'b')]
  },
  {
    title: 'a week passes at any time, a tag is set and deleted, and one request is late or lost',
    ...TAGGED,
    weeks: 1,
    trouble: 1,
    actors: [writes('A', 'a', false), deletes('D', 'a'), collects('C', 'a'), collects('E', 'a')]
  },
  {
    title: 'epochs are merged twice while a collector condemns what a writer tags, and two requests are late or lost',
    objects: { 'blobs/h': {}, ...done('1.X', 'blobs/y') },
    trouble: 2,
    actors: [writes('A', 'b', true), collects('C', 'b'), merges('M', { times: 2 })]
  },
  {
    title: 'epochs are merged while two collectors run, and nothing is late or lost',
    objects: { 'blobs/h': {}, ...done('1.X', 'blobs/y') },
    trouble: 0,
    actors: [writes('A', 'b', true), collects('C', 'b'), collects('E', 'b'), merges('M')]
  },
  {
    title: 'epochs are merged, a week passes at any time, and nothing is late or lost',
    objects: { 'blobs/h': {}, ...done('1.X', 'blobs/y') },
    weeks: 1,
    trouble: 0,
    actors: [writes('A', 'b', true), collects('C', 'b'), merges('M')]
  },
  FORGOTTEN
]

/** The small ones and some large ones, in which writes may be late, too. @type {Scenario[]} */
export const LATE = [
  ...SMALL.slice(2, 7).map(scenario => ({ ...scenario, trouble: 2 })),
  ...[SMALL[7], ...LARGE.slice(0, 3), LARGE[4]].map(scenario => ({ ...scenario, trouble: 1 }))
].map(scenario => ({ ...scenario, lateWrites: true, title: `${scenario.title}, and a few writes may be late` }))

/** Those that take some minutes each. @type {Scenario[]} */
export const LARGEST = [
  {
    title: 'two writers set one tag and a deleter another while two collectors run, and one request is late or lost',
    ...TAGGED,
    trouble: 1,
    actors: [
      writes('A', 'b', true), writes('B', 'b', false), deletes('D', 'a'),
      collects('C', 'a', 'b'), collects('E', 'a', 'b')
    ]
  },
  {
    title: 'two writers set one tag while two collectors run',
    ...UNTAGGED,
    actors: [writes('A', 'b', true), writes('B', 'b', false), collects('C', 'b'), collects('E', 'b')]
  },
  {
    title: 'two writers set two tags while two collectors run',
    ...UNTAGGED,
    actors: [writes('A', 'b', true), writes('B', 'c', false), collects('C', 'b', 'c'), collects('E', 'b', 'c')]
  },
  {
    title: 'a sequence is tagged by a writer with its bytes while two collectors run',
    objects: { 'blobs/m': {}, 'blobs/s': {} },
    actors: [writes('A', 'b', true, SEQUENCE), collects('C', 'b'), collects('E', 'b')]
  },
  {
    title: 'epochs are merged by two, and a writer without the bytes tags a blob that a collector condemns',
    objects: { 'blobs/h': {}, ...done('1.X', 'blobs/y') },
    trouble: 1,
    actors: [writes('A', 'b', false), collects('C', 'b'), merges('M'), merges('N')]
  }
]

/**
 * What is lost without rules. `onlyHighest`: also what the first design promised is lost, a tag whose highest version
 * was acknowledged.
 *
 * @type {(Scenario & { without: string[], fault: RegExp, onlyHighest?: boolean })[]}
 */
export const FAULTS = [
  { ...SMALL[0], title: 'the second look of the writer', without: ['writerLooksAgain'], fault: /blob h is lost/ },
  { ...SMALL[0], title: 'the second look of the collector', without: ['collectorLooksAgain'], fault: /blob h is lost/ },
  { ...SMALL[0], title: '`dead` while there is no `final`', without: ['deadCounts'], fault: /blob h is lost/ },
  { ...SMALL[3], title: 'new names for condemned ones', without: ['newNames'], fault: /blob h is lost/ },
  {
    ...LARGE[2],
    title: 'the second listing of a tag',
    without: ['tagListedAgain'],
    fault: /version 2 of tag a was acknowledged, and is lost/
  },
  {
    ...SMALL[0],
    title: 'the protection of every version',
    without: ['everyVersionProtects'],
    fault: /version 1 of tag a was acknowledged, and blob h is lost/
  },
  {
    ...LARGE[4],
    title: 'the protection of every version, when a tag is taken back by deleting it',
    without: ['everyVersionProtects', 'voidVersions'],
    fault: /version 1 of tag a was acknowledged, and blob h is lost/,
    onlyHighest: true
  },
  {
    ...SMALL[4],
    title: 'void versions',
    without: ['voidVersions'],
    fault: /version 2 of tag a was acknowledged, and is lost/,
    onlyHighest: true
  },
  {
    ...TAGGED_AND_OTHER,
    title: 'the order: first acknowledge, then delete lower versions',
    actors: [
      writes('B', 'a', false, { blobs: ['y'] }), collects('C', 'a'), { is: 'tidier', who: 'T', tag: 'a' }
    ],
    without: ['voidVersions'],
    fault: /version 1 of tag a was acknowledged, and is lost/,
    onlyHighest: true
  },
  { ...SMALL[6], title: 'the second search for members', without: ['followsAgain'], fault: /blob m is lost/ },
  { ...SMALL[7], title: 'the week of the writer', without: ['writerWeek'], fault: /blob h is lost/ },
  { ...SMALL[7], title: 'the week of the epoch', without: ['epochWeek'], fault: /blob h is lost/ },
  {
    ...SMALL[8],
    title: 'the keys of merged epochs before their folders go',
    without: ['mergedFirst'],
    fault: /blob h is lost/
  },
  { ...FORGOTTEN, title: 'the week of epochs that are merged', without: ['freshMerged'], fault: /blob h is lost/ },
  {
    ...UNTAGGED,
    title: 'a `final` of its own for each collector',
    actors: [writes('A', 'b', false), collects('C', 'b'), collects('E', 'b')],
    without: ['ownFinal'],
    fault: /blob h is lost/
  },
  { ...GIVEN_UP, title: 'the folders of epochs that were given up', without: ['givenUpStay'], fault: /blob h is lost/ },
  { ...SMALL[0], title: 'readers who take what is in `dead`', without: ['readersTakeDead'], fault: /blob h is lost/ },
  {
    title: 'a folder of its own for each epoch',
    objects: { 'blobs/h': {}, ...done('1', 'blobs/y') },
    trouble: 1,
    actors: [writes('A', 'b', true), collects('C', 'b'), merges('M', { times: 2 })],
    without: ['epochIds'],
    fault: /blob h is lost/
  }
]
