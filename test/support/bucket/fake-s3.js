// A server of S3 in this process: a function that replaces `fetch`. It has one bucket, and checks that requests are
// signed, but not by whom. Source: Amazon S3, "API reference".

/** Compares strings by code points, which is the order of their UTF-8. */
function compare (a, b) {
  if (!/\p{Surrogate}|[\u{10000}-\u{10ffff}]/u.test(a + b)) return a < b ? -1 : a > b ? 1 : 0
  const [pointsA, pointsB] = [[...a], [...b]]
  for (let i = 0; i < Math.min(pointsA.length, pointsB.length); i++) {
    const difference = pointsA[i].codePointAt(0) - pointsB[i].codePointAt(0)
    if (difference !== 0) return difference
  }
  return pointsA.length - pointsB.length
}

const HOST = 's3.test'
const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
const escape = text => text.replace(/[&<>"]/g, char => ENTITIES[char])
const xml = (status, text, headers) =>
  new Response(`<?xml version="1.0" encoding="UTF-8"?>\n${text}`, { status, headers })
export const errorXml = (status, code, headers) =>
  xml(status, `<Error><Code>${code}</Code><Message>because &amp; so</Message></Error>`, headers)

export class FakeS3 {
  objects = new Map()
  uploads = new Map()
  /** The requests so far, as `GET /bucket/key?query`. */
  requests = []
  #count = 0
  /** The maximum number of keys of a list. */
  page = 1000
  url = `https://${HOST}`

  fetch = async (input, init) => {
    const url = new URL(input)
    const { method } = init
    const headers = new Headers(init.headers)
    this.requests.push(`${method} ${url.pathname}${url.search}`)
    if (init.redirect !== 'manual') throw new Error('redirects must not be followed')
    init.signal?.throwIfAborted()
    if (url.host !== HOST) throw new TypeError('fetch failed')
    const isSigned = headers.get('authorization')?.startsWith('AWS4-HMAC-SHA256 Credential=key/') ||
      url.searchParams.has('X-Amz-Signature')
    if (!isSigned) return errorXml(403, 'AccessDenied')
    const [, bucket, ...segments] = url.pathname.split('/')
    if (bucket !== 'bucket') return errorXml(404, 'NoSuchBucket')
    const body = init.body == null ? new Uint8Array(0) : new Uint8Array(init.body)
    const key = decodeURIComponent(segments.join('/'))
    return this.answer({ method, key, query: url.searchParams, headers, body })
  }

  answer ({ method, key, query, headers, body }) {
    if (key === '') return query.has('uploads') ? this.#listUploads() : this.#list(query)
    if (query.has('uploads')) {
      const id = `id&${++this.#count}`
      this.uploads.set(id, { key, parts: new Map(), begun: new Date() })
      return xml(200, `<R xmlns="urn:x"><UploadId>${escape(id)}</UploadId></R>`)
    }
    if (query.has('uploadId')) return this.#part(method, query, body)
    if (method === 'PUT') return this.#put(key, headers, body)
    if (method === 'DELETE') {
      this.objects.delete(key)
      return new Response(null, { status: 204 })
    }
    return this.#get(method, key, headers, query)
  }

  #put (key, headers, body) {
    if (headers.get('if-none-match') === '*' && this.objects.has(key)) return errorXml(412, 'PreconditionFailed')
    const etag = `"${++this.#count}"`
    this.objects.set(key, { body, etag, type: headers.get('content-type'), modified: new Date() })
    return new Response(null, { status: 200, headers: { etag } })
  }

  #get (method, key, headers, query) {
    const object = this.objects.get(key)
    if (object === undefined && method === 'HEAD') return new Response(null, { status: 404 })
    if (object === undefined) return errorXml(404, 'NoSuchKey')
    if (headers.has('if-match') && headers.get('if-match') !== object.etag) return errorXml(412, 'PreconditionFailed')
    const { length } = object.body
    const modified = object.modified.toUTCString()
    const info = { 'accept-ranges': 'bytes', etag: object.etag, 'last-modified': modified }
    for (const name of ['content-type', 'content-disposition']) {
      if (query.has(`response-${name}`)) info[name] = query.get(`response-${name}`)
    }
    if (method === 'HEAD') return new Response(null, { status: 200, headers: { ...info, 'content-length': length } })
    const [, start, end] = /^bytes=(\d+)-(\d*)$/.exec(headers.get('range') ?? '') ?? []
    if (start === undefined) {
      return new Response(object.body, { status: 200, headers: { ...info, 'content-length': length } })
    }
    if (Number(start) >= length) return errorXml(416, 'InvalidRange')
    const last = Math.min(end === '' ? Infinity : Number(end), length - 1)
    const part = object.body.slice(Number(start), last + 1)
    // A real store sends the length. Without it, films in WebKitGTK often stop when they seek.
    const ofPart = { 'content-length': part.length, 'content-range': `bytes ${start}-${last}/${length}` }
    return new Response(part, { status: 206, headers: { ...info, ...ofPart } })
  }

  #list (query) {
    const [prefix, after] = [query.get('prefix') ?? '', query.get('start-after') ?? '']
    const keys = [...this.objects.keys()].filter(key => key.startsWith(prefix) && compare(key, after) > 0).sort(compare)
    const entries = keys.slice(0, this.page).map(key => {
      const { body, etag, modified } = this.objects.get(key)
      return `<Contents><Key>${encodeURIComponent(key).replaceAll('%20', '+')}</Key><Size>${body.length}</Size>` +
        `<ETag>${escape(etag)}</ETag><LastModified>${modified.toISOString()}</LastModified></Contents>`
    })
    return xml(200, '<ListBucketResult xmlns="urn:x"><EncodingType>url</EncodingType><Name>bucket</Name><Prefix/>' +
      `<IsTruncated>${keys.length > this.page}</IsTruncated>${entries.join('\n')}</ListBucketResult>`)
  }

  #listUploads () {
    const entries = [...this.uploads].map(([id, { key, begun }]) =>
      `<Upload><Key>${escape(key)}</Key><UploadId>${escape(id)}</UploadId>` +
      `<Initiated>${begun.toISOString()}</Initiated></Upload>`)
    return xml(200, `<ListMultipartUploadsResult>${entries.join('')}</ListMultipartUploadsResult>`)
  }

  #part (method, query, body) {
    const id = query.get('uploadId')
    const upload = this.uploads.get(id)
    if (upload === undefined) return errorXml(404, 'NoSuchUpload')
    if (method === 'PUT') {
      const etag = `"part ${query.get('partNumber')}"`
      upload.parts.set(Number(query.get('partNumber')), { body, etag })
      return new Response(null, { status: 200, headers: { etag } })
    }
    this.uploads.delete(id)
    if (method === 'DELETE') return new Response(null, { status: 204 })
    const numbers = [...new TextDecoder().decode(body).matchAll(/<PartNumber>(\d+)/g)]
    const parts = numbers.map(([, number]) => upload.parts.get(Number(number)).body)
    const etag = `"${++this.#count}-${parts.length}"`
    const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
    parts.reduce((at, part) => {
      whole.set(part, at)
      return at + part.length
    }, 0)
    this.objects.set(upload.key, { body: whole, etag, modified: new Date() })
    return xml(200, `<CompleteMultipartUploadResult><ETag>${escape(etag)}</ETag></CompleteMultipartUploadResult>`)
  }
}
