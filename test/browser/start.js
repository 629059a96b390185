// Runs the suites. It is the last file of the bundle, so all suites are defined by now.
globalThis.mocha.run()
