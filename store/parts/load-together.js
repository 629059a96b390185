// Loads the rare parts of a store together with the store: in Node.js, where otherwise a call would read them from the
// disk much later, when another release of the package may be there, or the process has no file descriptor left; and in
// service workers, which cannot load a file later.

import * as rare from './rare.js'

export const loadRareParts = async () => rare
