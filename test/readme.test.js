// The examples of the README run as they stand.

import { expect } from 'chai'
import { readFileSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { newProject } from './support/project.js'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const EXAMPLES = [...readFileSync(`${ROOT}README.md`, 'utf8').matchAll(/### (.*)\n\n```js\n([\s\S]*?)```/g)]

describe('the examples of the README', () => {
  let project
  before(async () => { project = await newProject() })
  after(() => rm(project, { recursive: true }))

  it('are there', () => expect(EXAMPLES.length).to.be.at.least(4))

  for (const [, title, code] of EXAMPLES) {
    it(title, async () => {
      await writeFile(join(project, 'example.js'), code)
      const { stdout, stderr } = await promisify(execFile)(process.execPath, ['example.js'], { cwd: project })
      expect(stderr).to.equal('')
      expect(stdout).to.not.equal('')
    })
  }
})
