// Replaces part-folder.node.js in browsers, which have no files.

export class PartFolder {
  target = ''
  path = ''

  /** @param {string | URL} file */
  constructor (file) {
    throw new TypeError(`there are no files here: call download(), and read ${file} from the store`)
  }

  async sizeOf () { return undefined }
  async isThere () { return false }
  async prepare () {}
  async markAgain () {}
  async remove () {}
  async removeLeftovers () {}
}
