// The examples of the guide that need @number0/iroh run as they stand. run.js starts this file.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { newProject } from '../../support/project.js'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const text = readFileSync(join(ROOT, 'docs/guide.md'), 'utf8')
const examples = [...text.matchAll(/### (.*)\n\n```js iroh\n([\s\S]*?)```/g)]

describe('the examples of docs/guide.md with peers', () => {
  it('are there', () => expect(examples).to.not.have.length(0))

  for (const [, title, code] of examples) {
    it(title, async () => {
      const project = await newProject()
      try {
        await mkdir(join(project, 'node_modules/@number0'))
        const name = 'node_modules/@number0/iroh'
        await symlink(join(ROOT, name), join(project, name), 'junction')
        await writeFile(join(project, 'example.js'), code)
        const { stdout, stderr } = await promisify(execFile)(process.execPath, ['example.js'], { cwd: project })
        expect(stderr).to.equal('')
        expect(stdout).to.equal('100000 bytes\n')
      } finally {
        await rm(project, { recursive: true })
      }
    })
  }
})
