// The tests that do not run in a runtime, and why. All others do.

const OUTSIDE_NODE = {
  'before the new databases are complete changes nothing, and can be made again':
    'what a module has imported from node:fs/promises cannot be replaced',
  'in the middle of putting the new databases in place goes on when it is called again': 'the same',
  'because LevelDB gave up what it had read changes nothing': 'the same',
  'The tests of a store, over levels of your own': 'describe of node:test needs the test runner of this runtime'
}

/** By runtime, then by the title of the test. */
export const LEFT_OUT = {
  'Node.js': {},
  Bun: {
    ...OUTSIDE_NODE,
    'answers a thousand readers of ranges at the same time': 'most of so many connections fail in node:http of Bun'
  },
  Deno: {
    ...OUTSIDE_NODE,
    'an interrupted decode leaves no file':
      'Deno reports a child that was sent a signal as killed by it, whatever its exit code',
    'an interrupted add leaves nothing': 'the same',
    'an interrupt ends the wait for a reader, too':
      'Deno blocks in a write to a full pipe and does not handle the signal',
    'is not waited for after an interrupt, also by work that prints only then': 'the same',
    'has quicker mirrors fetch more, in the time that all of them need together':
      'the clock of the test runs ahead while Deno works on files',
    "has a stalled mirror's segment taken over at once when another is idle": 'the same',
    'answers a thousand readers of ranges at the same time': 'node:http of Deno resets some of so many connections',
    'survives requests that make no sense': 'node:http of Deno resets connections instead of answering 400',
    'breaks the connection at damage, so that no client takes it for the end':
      'node:http of Deno drops what it has not sent yet when a connection breaks',
    'leave nothing that looks whole when the process is killed':
      'a child process that gets its script as an argument asks for permissions'
  }
}
