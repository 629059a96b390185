// Reads which modules the files of this repository import.
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = new URL('../../', import.meta.url)

/** The modules in a folder and below, as paths from the root. @param {string} folder */
export const filesIn = folder => existsSync(new URL(folder, ROOT))
  ? readdirSync(new URL(folder, ROOT), { recursive: true })
    .map(name => `${folder}/${name.replaceAll('\\', '/')}`)
    .filter(path => path.endsWith('.js') && !path.includes('/node_modules/'))
  : []

/** Static and dynamic imports, re-exports, and the files of workers, which are named to `new URL`. */
const IMPORT = new RegExp([
  /^\s*(?:import|export)\b[^'"`;]*?from\s*['"]([^'"]+)['"]/,
  /^\s*import\s*['"]([^'"]+)['"]/,
  /\bimport\(\s*['"]([^'"]+)['"]\s*\)/,
  /\bnew URL\(\s*['"]([^'"]+\.js)['"]\s*,\s*import\.meta\.url/
].map(({ source }) => source).join('|'), 'gm')

/** What a file imports, as its import lines say it. @param {string} file  path from the root */
export const importsOf = file => [...withoutComments(readFileSync(new URL(file, ROOT), 'utf8')).matchAll(IMPORT)]
  .map(match => match.slice(1).find(name => name !== undefined))

/** Comments may import types only, in JSDoc. */
const withoutComments = source => source.replace(/\/\*\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '')

/** Names that package.json gives to files of ours: `#files`, and what the package exports. */
const { name: PACKAGE, imports = {} } = JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8'))

/**
 * The files of this repository that an import may mean.
 *
 * @param {string} file  the one that imports
 * @param {string} specifier
 * @returns {string[]} paths from the root; none for packages and for modules of Node.js
 */
export function targetsOf (file, specifier) {
  if (specifier.startsWith('.')) return [pathOf(new URL(specifier, new URL(file, ROOT)))]
  if (specifier.startsWith('#')) return leavesOf(imports[specifier]).map(path => path.replace(/^\.\//, ''))
  if (specifier === PACKAGE || specifier.startsWith(`${PACKAGE}/`)) return [`the package's own name (${specifier})`]
  return []
}

const pathOf = url => relative(fileURLToPath(ROOT), fileURLToPath(url)).replaceAll('\\', '/')

const leavesOf = value => typeof value === 'string' ? [value] : Object.values(value ?? {}).flatMap(leavesOf)
