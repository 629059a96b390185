// How the downloader waits for its tasks, for any work.
import { expect } from 'chai'
import { mirrorOf } from '../../../verifier/index.js'
import { MirrorBook } from '../../../verifier/mirrors/mirror-book.js'
import { Downloader } from '../../../exchange/download/downloader.js'
import { turn } from '../../support/fake-clock.js'

describe('the downloader', () => {
  it('looks for tasks again when the last one ends while the work is refilled', async () => {
    const from = ['a', 'b'].map(location => mirrorOf(() => new Uint8Array(0), { location }))
    const { signal } = new AbortController()
    const downloader = new Downloader(new MirrorBook(), { from, parallel: 2, signal })
    const ends = []
    let refills = 0
    let hasEnded = false
    /** Two tasks: the first ends immediately, and the second during the refill after that. */
    const work = {
      isDone: false,
      async refill () {
        refills++
        if (ends.length === 2 && !hasEnded) {
          ends[1]()
          for (let i = 0; i < 20; i++) await turn()
          hasEnded = true
        } else if (hasEnded) work.isDone = true
      },
      nextTask () {
        if (ends.length === 2) return undefined
        const ended = new Promise(resolve => { ends.push(resolve) })
        if (ends.length === 1) ends[0]()
        return { run: () => ended, isSmall: false }
      },
      fallBack: () => false
    }
    await downloader.run(work)
    await downloader.end()
    expect(refills).to.be.at.least(3)
  })
})
