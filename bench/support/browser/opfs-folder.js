// Keeps blob files in the origin-private file system of a browser, with the calls of a `BlobFolder` that a store needs
// to put and read a blob. It only serves to measure: it lacks all other calls, and a crash would leave files behind.

/**
 * @typedef {object} OpenFile
 * @property {(bytes: Uint8Array, at: number) => unknown} write
 * @property {(buffer: Uint8Array, at: number) => number | Promise<number>} read
 * @property {() => unknown} end  makes the written bytes readable
 * @property {() => unknown} flush
 * @property {() => number | Promise<number>} size
 * @property {() => unknown} close
 */
/** @typedef {(handle: any) => Promise<OpenFile>} Opener  `handle`: a `FileSystemFileHandle` */

/** Reads and writes synchronously, which only dedicated workers can do. @type {Opener} */
export async function openSync (handle) {
  const file = await handle.createSyncAccessHandle()
  return {
    write: (bytes, at) => file.write(bytes, { at }),
    read: (buffer, at) => file.read(buffer, { at }),
    end () {},
    flush: () => file.flush(),
    size: () => file.getSize(),
    close: () => file.close()
  }
}

/** Writes a stream, and reads parts of a Blob, which pages and service workers can do, too. @type {Opener} */
export async function openStreams (handle) {
  /** @type {any} */
  let stream
  /** @type {Blob | undefined} */
  let blob
  const current = async () => (blob ??= /** @type {Blob} */ (await handle.getFile()))
  const end = async () => {
    await stream?.close()
    stream = undefined
    blob = undefined
  }
  return {
    async write (bytes, position) {
      stream ??= await handle.createWritable({ keepExistingData: true })
      // WebKit ignores where in its buffer a view begins.
      const data = bytes.length === bytes.buffer.byteLength ? bytes : bytes.slice()
      await stream.write({ type: 'write', position, data })
    },
    async read (buffer, at) {
      const bytes = new Uint8Array(await (await current()).slice(at, at + buffer.length).arrayBuffer())
      buffer.set(bytes)
      return bytes.length
    },
    end,
    flush: end,
    size: async () => (await current()).size,
    close: end
  }
}

export class OpfsFolder {
  #folder
  #open
  /** Files by id. A file has one handle for its writer and all readers, because a synchronous handle is exclusive. */
  #files = /** @type {Map<number, Promise<OpenFile>>} */ (new Map())
  #opened = /** @type {Map<number, OpenFile>} */ (new Map())

  /** @param {any} folder  a `FileSystemDirectoryHandle` @param {Opener} open */
  constructor (folder, open) {
    this.#folder = folder
    this.#open = open
  }

  /** @param {number} id */
  async writer (id) {
    const file = await this.#file(id)
    let position = 0
    return {
      async append (/** @type {Uint8Array} */ bytes) {
        await file.write(bytes, position)
        position += bytes.length
      },
      end: async () => file.end(),
      sync: async () => file.flush(),
      beginSync () {},
      async close () {}
    }
  }

  /** @param {number} id */
  reader (id) {
    const opening = this.#file(id)
    const readInto = async (/** @type {Uint8Array} */ buffer, /** @type {number} */ at) =>
      (await opening).read(buffer, at)
    return {
      handle: opening.then(file => ({ stat: async () => ({ size: await file.size() }) })),
      async read (/** @type {number} */ start, /** @type {number} */ end) {
        const bytes = new Uint8Array(end - start)
        return bytes.subarray(0, await readInto(bytes, start))
      },
      readInto,
      release () {}
    }
  }

  /** @param {number} id */
  isOpen (id) { return this.#opened.has(id) }

  /** @param {number} id @param {number} start @param {number} end */
  readNow (id, start, end) {
    const bytes = new Uint8Array(end - start)
    return this.#opened.get(id)?.read(bytes, start) === bytes.length ? bytes : undefined
  }

  async sync () {}

  async len () {}

  async names () { return [] }

  async ids () { return [] }

  async remove () {}

  forget () {}

  async close () {
    for (const file of this.#opened.values()) await file.close()
  }

  /** @param {number} id */
  #file (id) {
    const known = this.#files.get(id)
    if (known !== undefined) return known
    const opening = this.#folder.getFileHandle(`${id}`, { create: true }).then(this.#open)
    opening.then((/** @type {OpenFile} */ file) => this.#opened.set(id, file), () => this.#files.delete(id))
    this.#files.set(id, opening)
    return opening
  }
}
