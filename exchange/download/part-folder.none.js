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
  async prepare () { return '' }
  async is () { return false }
  async removeMade () {}
  async end () {}
  async remove () {}
  async removeLeftovers () {}
}
