// What does not run in workerd, and why. Of the suites that run in pages, those in these folders run.

/** The parts of the package that are of use in Workers, which have no files and no place for a store but a bucket. */
export const FOLDERS = ['lib/', 'encoder/', 'verifier/', 'exchange/http/', 'exchange/bucket/']

/** Suites, by path from `test`. */
export const SUITES = {
  'lib/parallel/hash-spans.test.js': 'Workers have no threads',
  'lib/parallel/workers.test.js': 'the same'
}

/** Tests, by title. */
export const TITLES = {
  'is followed for a Request that refuses them': 'a Request of a Worker cannot refuse redirects',
  'loads a module of WebAssembly while it arrives': 'Workers do not compile WebAssembly while they run'
}
