// Keeps uploads: a blob that the path names, a slice of it, or a blob that the server names.

import { DEFAULT_GROUP_LOG } from '../../lib/core/constants.js'
import { HttpError } from './errors.js'
import { respondJson } from './respond.js'
import { SLICE_TYPE } from './slice.js'
import { uploadOf } from './upload.js'

/** @import { ServedRequest } from './served-request.js' */

const SLICE_LOG = `group-log=${DEFAULT_GROUP_LOG}`

/**
 * Keeps an upload if it is the blob that the path names, or a slice of it.
 *
 * @param {ServedRequest} served @param {Uint8Array} root
 */
export async function answerPut (served, root) {
  const { store, cid, signal } = served
  const body = uploadOf(served)
  const [type, ...parameters] = typeOf(served)
  if (type !== SLICE_TYPE) {
    const { size, isNew } = await store.put(body, { expect: root, signal })
    return respondJson(served, isNew ? 201 : 200, { cid, size, isNew })
  }
  if (parameters.some(parameter => /group-log=/.test(parameter) && parameter !== SLICE_LOG)) {
    throw notTaken(`slices are received at group log ${DEFAULT_GROUP_LOG}`)
  }
  const { received, complete } = await store.receive(root, body, undefined, { signal })
  return respondJson(served, 200, { cid, received, complete })
}

/** Keeps an upload, and tells its CID. @param {ServedRequest} served */
export async function answerPost (served) {
  const { store, signal } = served
  const body = uploadOf(served)
  if (typeOf(served)[0] === SLICE_TYPE) throw notTaken('slices are uploaded with PUT, under the CID of their blob')
  const { cid, size, isNew } = await store.put(body, { signal })
  served.cid = `${cid}`
  return respondJson(served, isNew ? 201 : 200, { cid: `${cid}`, size, isNew }, { location: `./blobs/${cid}` })
}

/** The type of an upload in lower case, then its parameters. @param {ServedRequest} served */
const typeOf = ({ request: { headers } }) =>
  (headers.get('content-type') ?? '').toLowerCase().split(';').map(part => part.trim())

/** @param {string} message */
const notTaken = message => new HttpError(415, 'HTTP_NOT_ACCEPTABLE', message)
