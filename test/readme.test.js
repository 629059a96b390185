// The examples of the README and of the documents run as they stand, each in a project of its own.

import { expect } from 'chai'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { newProject } from './support/project.js'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** How many there are at least, by file. */
const FILES = { 'README.md': 3, 'docs/guide.md': 16, 'docs/formats.md': 1, 'docs/store.md': 1 }

for (const [file, count] of Object.entries(FILES)) {
  describe(`the examples of ${file}`, () => {
    const examples = [...readFileSync(ROOT + file, 'utf8').matchAll(/### (.*)\n\n```js\n([\s\S]*?)```/g)]

    it('are there', () => expect(examples.length).to.be.at.least(count))

    for (const [, title, code] of examples) {
      it(title, async () => {
        const project = await newProject()
        try {
          await writeFile(join(project, 'example.js'), code)
          const { stdout, stderr } = await promisify(execFile)(process.execPath, ['example.js'], { cwd: project })
          expect(stderr).to.equal('')
          expect(stdout).to.not.equal('')
        } finally {
          await rm(project, { recursive: true })
        }
      })
    }
  })
}
