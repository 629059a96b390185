// The tests that do not run in a runtime, and why. All others do.

/** By runtime, then by the title of the test. */
export const LEFT_OUT = {
  'Node.js': {},
  Bun: {},
  Deno: {
    'an interrupted verify leaves no file':
      'Deno reports a child that was sent a signal as killed by it, whatever its exit code',
    'an interrupted add leaves nothing': 'the same',
    'an interrupt ends the wait for a reader, too':
      'Deno blocks in a write to a full pipe and does not handle the signal',
    'leave nothing that looks whole when the process is killed':
      'a child process that gets its script as an argument asks for permissions'
  }
}
