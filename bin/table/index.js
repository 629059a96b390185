// The table of commands. Parsing, help, completion and docs/cli.md use it. The code of a command is imported
// only when the command runs, so that `baobox hash` does not load a database.

import { add, cat, concatBlobs, exportBlobs, get, has, importBlobs, ls, missing, rm, stat, tag } from './blobs.js'
import { bucket } from './buckets.js'
import { diff } from './collections.js'
import { decode, decodeSlice, encode, outboard, receive, slice } from './encodings.js'
import { cid, hash, tree } from './hashing.js'
import { fetch, push, serve } from './network.js'
import { publish } from './publish.js'
import { bench, completion, demo, help } from './program.js'
import { compact, fsck, gc, rescue } from './upkeep.js'

/** @import { Table } from '../types.js' */

/** @type {Table} */
export const TABLE = {
  'Hashes and trees': {
    hash: { ...hash, load: async () => (await import('../commands/hashing/hash.js')).hash },
    cid: { ...cid, load: async () => (await import('../commands/hashing/cid.js')).cid },
    tree: { ...tree, load: async () => (await import('../commands/hashing/tree.js')).tree }
  },
  'Encodings, with the arguments of bao': {
    encode: { ...encode, load: async () => (await import('../commands/encodings/encode.js')).encode },
    decode: { ...decode, load: async () => (await import('../commands/encodings/decode.js')).decode },
    outboard: { ...outboard, load: async () => (await import('../commands/encodings/encode.js')).outboard },
    slice: { ...slice, load: async () => (await import('../commands/encodings/slice.js')).slice },
    'decode-slice': {
      ...decodeSlice, load: async () => (await import('../commands/encodings/decode.js')).decodeSlice
    }
  },
  'Blobs in a store': {
    add: { ...add, load: async () => (await import('../commands/store/add.js')).add },
    concat: { ...concatBlobs, load: async () => (await import('../commands/store/add.js')).concatBlobs },
    get: { ...get, load: async () => (await import('../commands/store/get.js')).get },
    cat: { ...cat, load: async () => (await import('../commands/store/get.js')).cat },
    ls: { ...ls, load: async () => (await import('../commands/store/list.js')).ls },
    stat: { ...stat, load: async () => (await import('../commands/store/list.js')).stat },
    diff: { ...diff, load: async () => (await import('../commands/store/collections.js')).diff },
    has: { ...has, load: async () => (await import('../commands/store/list.js')).has },
    missing: { ...missing, load: async () => (await import('../commands/store/list.js')).missing },
    receive: { ...receive, load: async () => (await import('../commands/store/add.js')).receive },
    export: { ...exportBlobs, load: async () => (await import('../commands/store/transfer.js')).exportBlobs },
    import: { ...importBlobs, load: async () => (await import('../commands/store/transfer.js')).importBlobs },
    rm: { ...rm, load: async () => (await import('../commands/store/tags.js')).rm },
    tag: { ...tag, load: async () => (await import('../commands/store/tags.js')).tag }
  },
  'Over the network': {
    fetch: { ...fetch, load: async () => (await import('../commands/network/fetch.js')).fetch },
    push: { ...push, load: async () => (await import('../commands/network/push.js')).push },
    serve: { ...serve, load: async () => (await import('../commands/network/serve.js')).serve },
    publish: { ...publish, load: async () => (await import('../commands/publish/publish.js')).publish },
    bucket: { ...bucket, load: async () => (await import('../commands/network/bucket.js')).bucket }
  },
  'Upkeep of a store': {
    gc: { ...gc, load: async () => (await import('../commands/store/upkeep.js')).gc },
    compact: { ...compact, load: async () => (await import('../commands/store/upkeep.js')).compact },
    fsck: { ...fsck, load: async () => (await import('../commands/store/fsck.js')).fsck },
    rescue: { ...rescue, load: async () => (await import('../commands/store/fsck.js')).rescue }
  },
  'baobox itself': {
    bench: { ...bench, load: async () => (await import('../commands/bench.js')).bench },
    demo: { ...demo, load: async () => (await import('../commands/demo.js')).demo },
    help: { ...help, load: async () => (await import('../commands/help.js')).help },
    completion: { ...completion, load: async () => (await import('../commands/help.js')).completion }
  }
}

/** All commands by their names. */
export const COMMANDS = Object.assign({}, ...Object.values(TABLE))
COMMANDS.help.choices = Object.keys(COMMANDS)
