// Runs the examples of a document unchanged, each in a project of its own.

import { expect } from 'chai'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { newProject } from './project.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/**
 * @param {string} page  for example `docs/guide.md`
 * @param {object} [options]
 * @param {string[]} [options.packages]  those that examples use, and that a real project would install
 * @param {string} [options.from]  the folder that has them
 * @param {(project: string) => Promise<void>} [options.prepare]  writes the files that the examples read
 * @param {Record<string, string>} [options.outputs]  what examples print, by their titles
 */
export function describeExamples (page, options = {}) {
  const { packages = [], from = join(ROOT, 'node_modules'), prepare, outputs = {} } = options
  const text = readFileSync(ROOT + page, 'utf8')
  const examples = [...text.matchAll(/### (.*)\n\n```js\n([\s\S]*?)```/g)]

  describe(`the examples of ${page}`, () => {
    it('have a title each', () => expect(examples.length).to.equal([...text.matchAll(/^```js$/gm)].length))

    for (const [, title, code] of examples) {
      it(title, async () => {
        const project = await newProject()
        try {
          for (const name of packages) {
            const link = join(project, 'node_modules', name)
            await mkdir(dirname(link), { recursive: true })
            await symlink(join(from, name), link, 'junction')
          }
          await prepare?.(project)
          await writeFile(join(project, 'example.js'), code)
          const { stdout, stderr } = await promisify(execFile)(process.execPath, ['example.js'], { cwd: project })
          expect(stderr).to.equal('')
          expect(stdout).to.not.equal('')
          if (outputs[title] !== undefined) expect(stdout).to.equal(outputs[title])
        } finally {
          await rm(project, { recursive: true })
        }
      })
    }
  })
}
