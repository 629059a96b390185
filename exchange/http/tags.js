// Answers with tags, sets and deletes them.

import { toCid } from '../../lib/hash/cid.js'
import { tagNotFound } from '../../store/interface.js'
import { assertAllowed } from './authorize.js'
import { badRequest } from './errors.js'
import { isAlias, parseName, rootOfTag } from './names.js'
import { limitIn, only } from './query.js'
import { respondJson } from './respond.js'
import { assertNoBody } from './upload.js'

/** @import { ServedRequest } from './served-request.js' */

/** What clients are told of a tag. @param {import('../../store/index.js').TagInfo} tag */
const entryOf = ({ name, cid, format, weak, expires }) => ({ name, cid: `${cid}`, format, weak, expires })

/** @param {ServedRequest} served @param {string} name */
export async function answerTag (served, name) {
  const { request: { method }, store } = served
  if (method === 'PUT') return setTag(served, name)
  if (method === 'DELETE') return deleteTag(served, name)
  const tag = await store.tags.get(name)
  const root = tag && await rootOfTag(store, tag)
  served.cid = root && `${toCid(root)}`
  await assertAllowed(served, { type: 'read', cid: served.cid, tag: name })
  if (tag === undefined) throw tagNotFound(name)
  return respondJson(served, 200, entryOf(tag))
}

/**
 * Sets a tag. The CID is in the query, so that no body is read for strangers.
 *
 * @param {ServedRequest} served @param {string} name
 */
async function setTag (served, name) {
  const { request, url: { searchParams }, store } = served
  assertNoBody(request)
  const text = only(searchParams, 'cid')
  const named = text === undefined ? undefined : parseName(text)
  if (named === undefined) throw badRequest('"cid" expected the CID of the blob that the tag is to name')
  const cid = named instanceof Uint8Array ? toCid(named) : named
  const root = await rootOfTag(store, { cid })
  served.cid = root && `${toCid(root)}`
  await assertAllowed(served, { type: 'tag', cid: served.cid ?? `${cid}`, tag: name })
  await store.tags.set(name, cid, isAlias(cid) ? { format: 'raw' } : undefined)
  return respondJson(served, 200, { name, cid: `${cid}` })
}

/** @param {ServedRequest} served @param {string} name */
async function deleteTag (served, name) {
  await assertAllowed(served, { type: 'tag', tag: name })
  return respondJson(served, 200, { name, isDeleted: await served.store.tags.delete(name) })
}

/** Answers with one page of the list of tags. @param {ServedRequest} served */
export async function answerTags (served) {
  const { url: { searchParams }, store } = served
  const limit = limitIn(searchParams)
  const after = only(searchParams, 'after')
  if (after === '') throw badRequest('"after" expected the name of a tag')
  await assertAllowed(served, { type: 'list' })
  const tags = []
  for await (const tag of store.tags.list({ after })) {
    tags.push(entryOf(tag))
    if (tags.length === limit) break
  }
  const next = tags.length < limit
    ? undefined
    : `?after=${encodeURIComponent(tags[limit - 1].name)}&limit=${limit}`
  return respondJson(served, 200, { tags, next })
}
