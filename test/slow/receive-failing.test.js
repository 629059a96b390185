// Two calls that receive one blob at the same time, while something fails at a call to databases and files.
// EFFORT=1 makes each call fail in turn; EFFORT=0.2, every fifth.
import { strideAtEffort } from '../support/effort.js'
import { TWO_AT_A_TIME, testFailing } from '../support/store/receive-jobs.js'

describe('store: two receives of one blob when calls to the disk fail', () => {
  testFailing(TWO_AT_A_TIME, strideAtEffort())
})
