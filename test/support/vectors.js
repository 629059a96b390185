// The vectors that live beside the tests, and the official ones, which live with the projects they come from.
import { readJson } from '#runtime'

/** Written by the bao, bao-tree and blake3 crates. */
export const vectors = await readJson('vectors/vectors.json')

/** Written by iroh-blobs. */
export const irohVectors = await readJson('vectors/iroh_vectors.json')

const OFFICIAL = {
  blake3: await readJson('../../shared/conformance/blake3_test_vectors.json'),
  bao: await readJson('../../shared/conformance/bao_test_vectors.json')
}

/**
 * The official vectors of BLAKE3 and bao belong to their projects and are not copied into this one. Where a copy
 * lies next to the checkout it is used; elsewhere the tests say aloud that they did not run.
 *
 * @param {'blake3' | 'bao'} project
 * @returns {any | undefined}
 */
export const official = project => OFFICIAL[project]

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
