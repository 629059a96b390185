// Sets up mocha. It is the first file of the bundle; start.js is the last one and runs the suites.
import 'mocha/mocha.js'

const { mocha } = globalThis

/**
 * Prints to the console, which is all that run.js sees of a page: each test, then the failures, then the line `outcome`
 * that run.js waits for.
 */
class ConsoleReporter {
  constructor (runner) {
    const failures = []
    let depth = 0
    const say = text => console.log('  '.repeat(depth) + text)
    runner.on('start', () => say('begin'))
    runner.on('suite', ({ title }) => { say(title); depth++ })
    runner.on('suite end', () => { depth-- })
    runner.on('pass', ({ title, duration }) => say(`✔ ${title}${duration > 500 ? ` (${duration}ms)` : ''}`))
    runner.on('pending', ({ title }) => say(`- ${title}`))
    runner.on('fail', (test, error) => {
      failures.push({ test, error })
      say(`${failures.length}) ${test.title}`)
    })
    runner.on('end', () => {
      failures.forEach(({ test, error }, i) => console.log(`\n${i + 1}) ${test.fullTitle()}\n${error.stack ?? error}`))
      const { passes, pending } = runner.stats
      console.log(`outcome ${JSON.stringify({ passes, pending, failures: failures.length })}`)
    })
  }
}

mocha.setup({ ui: 'bdd', timeout: 60_000, reporter: ConsoleReporter })
