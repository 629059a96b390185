// The suites that do not run in a browser, and why. All others do: a suite that imports a module of Node.js cannot be
// bundled, and ESLint refuses the globals of Node.js.

/** By path from `test`: a file, or a folder with a slash at its end. */
export const LEFT_OUT = {
  'arrow.test.js': 'reads the sources',
  'readme.test.js': 'starts the examples as processes',
  'examples.test.js': 'starts the examples as processes',
  'docs.test.js': 'reads the documents',
  'bench/': 'the benches run in Node.js only',
  'bin/': 'the command line',
  'fuzz/': 'work and memory are counted with Node.js',
  'slow/': 'takes minutes, and measures memory with Node.js',
  'lib/engine/read-buffers.test.js': 'Buffer belongs to Node.js',
  'lib/source/files.test.js': 'files',
  'lib/parallel/workers.test.js': 'threads of Node.js',
  'encoder/files.test.js': 'files',
  'verifier/sources/files.test.js': 'files, and streams of Node.js',
  'verifier/sources/http.test.js': 'servers',
  'store/exchange/http/node/': 'servers',
  'store/storage/level/failed-writes-files.test.js': 'directories, and processes whose files may not grow',
  'store/storage/disk/failing-files.test.js': 'files',
  'store/write/receive-failing.test.js': 'files',
  'store/write/receive-files.test.js': 'files',
  'store/check/fsck-files.test.js': 'files',
  'store/write/import-file.test.js': 'files',
  'store/write/put-files.test.js': 'files, and streams of Node.js',
  'store/storage/disk/foreign-files.test.js': 'files',
  'store/gc/gc-files.test.js': 'files',
  'store/storage/level/order.test.js': 'files of LevelDB',
  'store/write/receive-interrupted.test.js': 'files',
  'store/read/sync-reads.test.js': 'files',
  'store/read/small-read-files.test.js': 'files',
  'store/storage/disk/blob-folder.test.js': 'directories',
  'store/storage/opening/rescue.test.js': 'files of LevelDB, and processes that are killed',
  'store/storage/opening/disk.test.js': 'directories, and processes that are killed',
  'store/storage/opening/read-only.test.js': 'directories, and processes that are killed',
  'store/storage/opening/layout.test.js': 'stores that are kept as files'
}
