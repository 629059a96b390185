// The examples of the README and of the guides run as they stand.

import { expect } from 'chai'
import { readFileSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { newProject } from './support/project.js'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** How many there are at least, by file. */
const FILES = { 'README.md': 4, 'docs/verifying.md': 5, 'docs/store.md': 3 }

it('the README explains every code of an error', () => {
  const [, union] = /@typedef \{([^}]*)\} BaoErrorCode/.exec(readFileSync(ROOT + 'lib/core/errors.js', 'utf8'))
  const [, table] = /\n### Errors\n([\s\S]*?)\n## /.exec(readFileSync(ROOT + 'README.md', 'utf8'))
  const explained = table.split('\n').map(row => row.split('|')[1] ?? '').join().match(/[A-Z]+_[A-Z_]+/g)
  expect(explained.sort()).to.deep.equal(union.match(/[A-Z]+_[A-Z_]+/g).sort())
})

for (const [file, count] of Object.entries(FILES)) {
  describe(`the examples of ${file}`, () => {
    const examples = [...readFileSync(ROOT + file, 'utf8').matchAll(/### (.*)\n\n```js\n([\s\S]*?)```/g)]
    let project
    before(async () => { project = await newProject() })
    after(() => rm(project, { recursive: true }))

    it('are there', () => expect(examples.length).to.be.at.least(count))

    for (const [, title, code] of examples) {
      it(title, async () => {
        await writeFile(join(project, 'example.js'), code)
        const { stdout, stderr } = await promisify(execFile)(process.execPath, ['example.js'], { cwd: project })
        expect(stderr).to.equal('')
        expect(stdout).to.not.equal('')
      })
    }
  })
}
