// The tests that do not run in a runtime, and why. All others do.

/** Suites that read the sources, which are the same everywhere. */
export const SAME_EVERYWHERE = ['arrow.test.js', 'options.test.js']

const OUTSIDE_NODE = {
  'before the new databases are complete changes nothing, and can be made again':
    'what a module has imported from node:fs/promises cannot be replaced',
  'in the middle of putting the new databases in place goes on when it is called again': 'the same',
  'resolves its own path, and not that of each folder: that takes a step for each folder above it': 'the same',
  'of files above 1 MiB, two are put while the next is found': 'the same',
  'of files that have not changed, few are looked up': 'the same',
  'of small files, a batch is kept while the next is gathered': 'the same',
  'of all kinds one after the other, a long one waits for few small ones, and all come in order': 'the same',
  'a put that finds no room leaves nothing, and succeeds when there is some': 'the same',
  'The tests of a store, over levels of your own': 'describe of node:test needs the test runner of this runtime'
}

/** By runtime, then by the title of the test. */
export const LEFT_OUT = {
  'Node.js': {},
  Bun: {
    ...OUTSIDE_NODE,
    'makes a file of the blocks of one that is meant, and leaves nothing of another':
      'what a module has imported from node:fs/promises cannot be replaced',
    'leaves no timer behind when it cannot listen, or is closed': 'the server of Bun has timers of its own',
    'is left when its thread ends': 'Bun does not close the files that a thread has open when it is terminated'
  },
  Deno: {
    ...OUTSIDE_NODE,
    'is that of a folder, also where it is mounted a second time': 'a shell starts Deno without its options',
    'names that are no text': 'Deno makes text of a path that is given as bytes, and writes to another file',
    'past names that are not paths on other systems, or not text': 'the same',
    'add -r --skip-errors leaves out what cannot be put, prints a line for each, and exits with 1': 'the same',
    'an interrupted decode leaves no file':
      'Deno reports a child that was sent a signal as killed by it, whatever its exit code',
    'an interrupted add leaves nothing': 'the same',
    'serves the page until Ctrl-C': 'the same',
    'an interrupt ends the wait for a reader, too':
      'Deno blocks in a write to a full pipe and does not handle the signal',
    'is not waited for after an interrupt, also by work that prints only then': 'the same',
    'leave nothing that looks whole when the process is killed':
      'a child process that gets its script as an argument asks for permissions'
  }
}
