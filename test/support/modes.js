// The names that the vectors give to the three modes, and the options that ask for them here.
import { CONTEXT, KEY } from './inputs.js'

export const MODES = {
  hash: {},
  keyed_hash: { key: KEY },
  derive_key: { context: CONTEXT }
}
