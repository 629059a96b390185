// A binding of R2, as Cloudflare documents it: "R2 Workers API reference", "R2 error codes".

/** Throws as R2 does: the number of the error is at the end of the message. */
export const r2Error = (action, text, code) => new Error(`${action}: ${text} (${code})`)

const compare = (a, b) => {
  const [bytesA, bytesB] = [a, b].map(text => new TextEncoder().encode(text))
  const at = bytesA.findIndex((byte, i) => byte !== bytesB[i])
  return at < 0 ? bytesA.length - bytesB.length : bytesA[at] - (bytesB[at] ?? -1)
}

export class FakeR2 {
  objects = new Map()
  calls = []
  page = 1000
  #count = 0

  head = async key => {
    this.calls.push(`head ${key}`)
    return this.#infoOf(key)
  }

  get = async (key, { range, onlyIf } = {}) => {
    this.calls.push(`get ${key}`)
    const info = this.#infoOf(key)
    if (info === null) return null
    if (onlyIf?.etagMatches !== undefined && onlyIf.etagMatches !== info.etag) return info
    const { bytes } = this.objects.get(key)
    const offset = range?.offset ?? 0
    if (range !== undefined && offset >= bytes.length) {
      throw r2Error('get', 'The requested range is not satisfiable', 10039)
    }
    const part = bytes.slice(offset, range?.length === undefined ? undefined : offset + range.length)
    return { ...info, body: new Response(part).body ?? new Blob([]).stream() }
  }

  put = async (key, value, { onlyIf } = {}) => {
    this.calls.push(`put ${key}`)
    if (onlyIf?.get('if-none-match') === '*' && this.objects.has(key)) return null
    return this.#set(key, new Uint8Array(value))
  }

  delete = async key => {
    this.calls.push(`delete ${key}`)
    this.objects.delete(key)
  }

  list = async ({ prefix = '', startAfter = '', cursor, limit = 1000 } = {}) => {
    this.calls.push(`list ${prefix}`)
    const after = cursor === undefined ? startAfter : decodeURIComponent(cursor)
    const keys = [...this.objects.keys()].filter(key => key.startsWith(prefix) && compare(key, after) > 0).sort(compare)
    const objects = keys.slice(0, Math.min(limit, this.page)).map(key => this.#infoOf(key))
    const truncated = objects.length < keys.length
    const more = truncated && { cursor: encodeURIComponent(objects.at(-1).key) }
    return { objects, truncated, ...more, delimitedPrefixes: [] }
  }

  createMultipartUpload = async key => {
    const parts = new Map()
    return {
      key,
      uploadPart: async (partNumber, value) => {
        const etag = `part ${partNumber}`
        parts.set(partNumber, { etag, value: new Uint8Array(value) })
        return { partNumber, etag }
      },
      complete: async wanted => {
        const values = wanted.map(({ partNumber, etag }) => {
          const part = parts.get(partNumber)
          if (part?.etag !== etag) throw r2Error('completeMultipartUpload', 'A part could not be found', 10025)
          return part.value
        })
        return this.#set(key, new Uint8Array(await new Blob(values).arrayBuffer()))
      },
      abort: async () => parts.clear()
    }
  }

  #set (key, bytes) {
    this.objects.set(key, { bytes, etag: `e${++this.#count}`, uploaded: new Date() })
    return this.#infoOf(key)
  }

  #infoOf (key) {
    const object = this.objects.get(key)
    if (object === undefined) return null
    const { bytes, etag, uploaded } = object
    return { key, version: etag, size: bytes.length, etag, httpEtag: `"${etag}"`, uploaded }
  }
}
