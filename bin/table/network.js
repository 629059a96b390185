// Commands over the network.

import { filled, integerFrom, parseSize } from '../line/values.js'
import { define, flag, json, store, text } from './options.js'

export const serve = define({
  summary: 'let others read the blobs of a store over HTTP, verified',
  operands: '',
  options: {
    store,
    port: { value: 'PORT', help: '0 for any that is free; default: 4700', short: 'p', read: integerFrom(0, 65_535) },
    host: {
      ...text('HOST', 'a name or address of this machine; 0.0.0.0 for all; default: localhost'), read: filled('HOST')
    },
    socket: { ...text('PATH', 'listen at a Unix socket instead'), read: filled('PATH') },
    'allow-tags': flag('let tags be used as names'),
    list: flag('let everybody list the blobs'),
    'put-token': {
      ...text('TOKEN', 'let those upload who send this token; default: $BAOBOX_PUT_TOKEN'), read: filled('TOKEN')
    },
    'max-put': { value: 'N', help: 'bytes of one upload; default: 1GiB', read: parseSize },
    quiet: flag('print no line for each request', 'q'),
    json
  },
  excludes: { socket: ['port', 'host'] },
  notes: [
    'Prints where it listens, then a line for each request that has ended: its status, the bytes sent, the ' +
    'milliseconds, the method and the path. Ends on Ctrl-C and SIGTERM, when the answers under way are sent, or ' +
    'after 10 s. A token on the command line can be seen by other users of the machine: the environment hides it.',
    'Everybody who can reach it can read every blob whose name they know. See docs/guide.md, "Serve".'
  ],
  examples: ['baobox serve', 'baobox serve --host 0.0.0.0 --port 80', 'baobox serve --socket /run/baobox.sock']
})
