export * from './blake3.js'
export * as Tree from './tree.js'
export * as Bao from './bao.js'
export { forge } from './forge.js'
