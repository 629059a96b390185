// The options for the three modes, by the names that the vectors give to the modes.
import { CONTEXT, KEY } from './inputs.js'

export const MODES = {
  hash: {},
  keyed_hash: { key: KEY },
  derive_key: { context: CONTEXT }
}
