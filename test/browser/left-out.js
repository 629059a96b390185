// The suites that do not run in a browser, and why. All others do: one that imports a module of Node.js cannot even be bundled, and the linter
// does not let it use what Node.js has as globals.

/** By path from `test`: a file, or a folder with a slash at its end. */
export const LEFT_OUT = {
  'arrow.test.js': 'reads the sources',
  'readme.test.js': 'starts the examples as processes',
  'bench/': 'the benches, which are run by Node.js',
  'bin/': 'the command line',
  'fuzz/': 'work and memory are counted as Node.js does',
  'slow/': 'minutes long, and measures memory as Node.js counts it',
  'lib/buffers.test.js': 'Buffer belongs to Node.js',
  'lib/files.test.js': 'files',
  'lib/workers.test.js': 'threads of Node.js',
  'encoder/files.test.js': 'files',
  'verifier/files.test.js': 'files, and streams of Node.js',
  'verifier/http.test.js': 'servers',
  'store/failed-writes-files.test.js': 'directories, and processes whose files may not grow',
  'store/failing-files.test.js': 'files',
  'store/receive-failing.test.js': 'files',
  'store/receive-files.test.js': 'files',
  'store/fsck-files.test.js': 'files',
  'store/import.test.js': 'files',
  'store/files.test.js': 'files, and streams of Node.js',
  'store/foreign-files.test.js': 'files',
  'store/gc-files.test.js': 'files',
  'store/order.test.js': 'files of LevelDB',
  'store/parts.test.js': 'files',
  'store/quick-files.test.js': 'files',
  'store/repair.test.js': 'files of LevelDB, and processes that are killed',
  'store/disk.test.js': 'directories, and processes that are killed',
  'store/layout.test.js': 'stores that are kept as files'
}
