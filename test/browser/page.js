// Sets up mocha. It is the first file of the bundle; start.js is the last one and runs the suites.
import 'mocha/mocha.js'

const { mocha, report, textOf } = globalThis

/** Reports each test, then the failures, then the outcome, for which run.js waits. */
class Reporter {
  constructor (runner) {
    const failures = []
    let depth = 0
    const say = text => report({ line: '  '.repeat(depth) + text })
    runner.on('start', () => report({ begin: true }))
    runner.on('suite', ({ title }) => { say(title); depth++ })
    runner.on('suite end', () => { depth-- })
    runner.on('pass', ({ title, duration }) => say(`✔ ${title}${duration > 500 ? ` (${duration}ms)` : ''}`))
    runner.on('pending', ({ title }) => say(`- ${title}`))
    runner.on('fail', (test, error) => {
      failures.push({ test, error })
      say(`${failures.length}) ${test.title}`)
    })
    runner.on('end', () => {
      failures.forEach(({ test, error }, i) => {
        report({ line: `\n${i + 1}) ${test.fullTitle()}\n${textOf(error)}` })
      })
      const { passes, pending } = runner.stats
      report({ outcome: { passes, pending, failures: failures.length } })
    })
  }
}

mocha.setup({ ui: 'bdd', timeout: 300_000, reporter: Reporter })
