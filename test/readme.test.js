// The examples of the README run as they stand.

import { expect } from 'chai'
import { readFileSync } from 'node:fs'
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const EXAMPLES = [...readFileSync(`${ROOT}README.md`, 'utf8').matchAll(/### (.*)\n\n```js\n([\s\S]*?)```/g)]

describe('the examples of the README', () => {
  it('are there', () => expect(EXAMPLES.length).to.be.at.least(4))

  for (const [, title, code] of EXAMPLES) {
    it(title, async () => {
      // From the project's folder, the package imports itself by its name.
      const { stdout, stderr } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', code], { cwd: ROOT })
      expect(stderr).to.equal('')
      expect(stdout).to.not.equal('')
    })
  }
})
