// The tests that do not run in another runtime, and why. All others do.

/** By runtime, then by the title of the test. */
export const LEFT_OUT = {
  'Node.js': {},
  Bun: {},
  Deno: {
    'an interrupted verify leaves no file': 'Deno says of a child that was sent a signal that it died of it, whatever it exits with',
    'an interrupted add leaves nothing': 'the same',
    'an interrupt ends the wait for a reader, too': 'Deno writes to a pipe that is full without ever coming back to hear the signal',
    'leave nothing that looks whole when the process is killed': 'a child that is given its script as an argument asks for permissions'
  }
}
