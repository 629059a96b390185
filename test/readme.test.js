// The examples of the README run as they stand.

import { expect } from 'chai'
import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { execFile } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const EXAMPLES = [...readFileSync(`${ROOT}README.md`, 'utf8').matchAll(/### (.*)\n\n```js\n([\s\S]*?)```/g)]

describe('the examples of the README', () => {
  /** A project that has the package installed. */
  let project
  before(async () => {
    project = await mkdtemp(join(tmpdir(), 'baobox-readme-'))
    await mkdir(join(project, 'node_modules'))
    await symlink(ROOT, join(project, 'node_modules', 'baobox'), 'junction')
    await writeFile(join(project, 'package.json'), '{ "type": "module" }')
  })
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
