// Bundled behind the suites: by now all of them are defined.
globalThis.mocha.run()
