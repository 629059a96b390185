// The vectors of this repository, and the official ones, which are in the repositories of their projects.
import { readJson } from '#runtime'

/** Vectors written by the bao, bao-tree and blake3 crates. */
export const vectors = await readJson('vectors/vectors.json')

/** Vectors written by iroh-blobs. */
export const irohVectors = await readJson('vectors/iroh_vectors.json')

/** The cases of DASL's own tests. */
export const daslVectors = await readJson('vectors/dasl_vectors.json')

const OFFICIAL = {
  blake3: await readJson('../../shared/conformance/blake3_test_vectors.json'),
  bao: await readJson('../../shared/conformance/bao_test_vectors.json')
}

/**
 * The official vectors of BLAKE3 and bao belong to their projects and are not copied into this one. Tests use a copy
 * beside the checkout. Without a copy they report that they did not run.
 *
 * @param {'blake3' | 'bao'} project
 * @returns {any | undefined}
 */
export const official = project => OFFICIAL[project]

/** Replaces a whole file of tests. */
export function skipAloud (title, reason) {
  it(title, function () {
    console.log(`    skipped: ${title}: ${reason}`)
    this.skip()
  })
}

/** Decodes a number: from 2^53 on, the files have strings of digits. @returns {number | bigint} */
export const integer = value => typeof value === 'string' ? BigInt(value) : value

export const integers = values => values.map(integer)
