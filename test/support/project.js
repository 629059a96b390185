// Makes projects outside of this checkout that import the package by its name.
import { mkdir, mkdtemp, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** @returns {Promise<string>} the new folder of a project that has the package installed; the caller removes it */
export async function newProject () {
  const folder = await mkdtemp(join(tmpdir(), 'baobox-project-'))
  await mkdir(join(folder, 'node_modules'))
  await symlink(ROOT, join(folder, 'node_modules', 'baobox'), 'junction')
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  return folder
}
