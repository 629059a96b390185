// Reads which modules the files of this repository import.
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = new URL('../../', import.meta.url)

/** Returns the modules in a folder and below, as paths from the root. @param {string} folder */
export const filesIn = folder => existsSync(new URL(folder, ROOT))
  ? readdirSync(new URL(folder, ROOT), { recursive: true })
    .map(name => `${folder}/${name.replaceAll('\\', '/')}`)
    .filter(path => path.endsWith('.js') && !path.includes('/node_modules/'))
  : []

/** Static and dynamic imports, re-exports, and the files of workers, which are passed to `new URL`. */
const IMPORT = new RegExp([
  /^\s*(?:import|export)\b[^'"`;]*?from\s*['"]([^'"]+)['"]/,
  /^\s*import\s*['"]([^'"]+)['"]/,
  /\bimport\(\s*['"]([^'"]+)['"]\s*\)/,
  /\bnew URL\(\s*['"]([^'"]+\.js)['"]\s*,\s*import\.meta\.url/
].map(({ source }) => source).join('|'), 'gm')

/** Returns the specifiers of a file's imports. @param {string} file  path from the root */
export const importsOf = file => [...withoutComments(readFileSync(new URL(file, ROOT), 'utf8')).matchAll(IMPORT)]
  .map(match => match.slice(1).find(name => name !== undefined))

/** Matches comments: imports in JSDoc are of types only. */
const withoutComments = source => source.replace(/\/\*\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '')

/** Names that package.json gives to files of the package: `#files`, and its exports. */
const { name: PACKAGE, imports = {} } = JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8'))

/**
 * Returns the files of this repository that an import may mean.
 *
 * @param {string} file  the importing file
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
