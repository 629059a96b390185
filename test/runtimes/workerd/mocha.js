// Sets up mocha in a Worker. It is the first file of the bundle; start.js is the last one and runs the suites.
import 'mocha/mocha.js'

const { mocha } = globalThis

/** Prints each test, then the failures. */
class Reporter {
  constructor (runner) {
    const failures = []
    let depth = 0
    const say = text => console.log('  '.repeat(depth) + text)
    runner.on('suite', ({ title }) => { say(title); depth++ })
    runner.on('suite end', () => { depth-- })
    runner.on('pass', ({ title }) => say(`✔ ${title}`))
    runner.on('pending', ({ title }) => say(`- ${title}`))
    runner.on('fail', (test, error) => {
      failures.push({ test, error })
      say(`${failures.length}) ${test.title}`)
    })
    runner.on('end', () => {
      failures.forEach(({ test, error }, i) => console.log(`\n${i + 1}) ${test.fullTitle()}\n${error?.stack ?? error}`))
    })
  }
}

mocha.setup({ ui: 'bdd', timeout: 300_000, reporter: Reporter })
