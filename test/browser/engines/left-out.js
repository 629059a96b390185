// The tests that do not run in an engine, and why. All others do. test/browser/left-out.js has those for all engines.

/** By engine, then by the title of the test. */
export const LEFT_OUT = {
  chromium: {},
  firefox: {},
  webkit: {}
}
