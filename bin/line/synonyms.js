// Other names of commands.

/** @type {Record<string, string>} */
const SYNONYMS = { put: 'add', list: 'ls' }

/** The name of a command, which may be given by another name. @param {string} given */
export const commandName = given => Object.hasOwn(SYNONYMS, given) ? SYNONYMS[given] : given
