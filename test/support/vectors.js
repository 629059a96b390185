// The vectors that live beside the tests, and the official ones, which live with the projects they come from.
import { existsSync, readFileSync } from 'node:fs'

const read = url => JSON.parse(readFileSync(url, 'utf8'))

/** Written by the bao, bao-tree and blake3 crates. */
export const vectors = read(new URL('../vectors/vectors.json', import.meta.url))

/** Written by iroh-blobs. */
export const irohVectors = read(new URL('../vectors/iroh_vectors.json', import.meta.url))

const SHARED = new URL('../../../shared/conformance/', import.meta.url)

/**
 * The official vectors of BLAKE3 and bao belong to their projects and are not copied into this one. Where a copy
 * lies next to the checkout it is used; elsewhere the tests say aloud that they did not run.
 *
 * @param {'blake3' | 'bao'} project
 * @returns {any | undefined}
 */
export function official (project) {
  const file = new URL(`${project}_test_vectors.json`, SHARED)
  return existsSync(file) ? read(file) : undefined
}

/** Stands in for a whole file of tests. */
export function skipAloud (title, reason) {
  it(title, function () {
    console.log(`    skipped: ${title}: ${reason}`)
    this.skip()
  })
}

/** Numbers of 2^53 and more are strings of digits in the files. @returns {number | bigint} */
export const integer = value => typeof value === 'string' ? BigInt(value) : value

export const integers = values => values.map(integer)
