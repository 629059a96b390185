// Reads which members of a sequence of hashes a request asks for.

import { DEFAULT_GROUP_LOG } from '../../../lib/core/constants.js'
import { badRequest, notAcceptable } from '../errors.js'
import { boundariesIn, labelOf, only } from './query.js'

/**
 * @typedef {object} MembersQuery
 * @property {[start: number, end: number][]} spans  of members: increasing, half-open and apart
 * @property {string} label  names them in an ETag
 */

export const MEMBERS_TYPE = 'application/vnd.bao-members'
const FORMAT = 'bao-members'
/** Members that one answer has, at most. */
const MAX_MEMBERS = 1024
/** Parameters of slices. */
const OTHERS = ['start', 'end', 'chunks']

/**
 * @param {URLSearchParams} query
 * @returns {MembersQuery | undefined} undefined when no members are wanted
 * @throws {import('../errors.js').HttpError} 400, 406
 */
export function membersQueryOf (query) {
  const text = only(query, 'members')
  if (only(query, 'format') !== FORMAT) {
    if (text !== undefined) throw badRequest(`"members" is for sequences of hashes: add "format=${FORMAT}"`)
    return undefined
  }
  if (text === undefined) throw badRequest(`"format=${FORMAT}" expected "members", like members=0-1000,1005-1010`)
  const other = OTHERS.find(name => query.has(name))
  if (other !== undefined) throw badRequest(`"members" and "${other}" exclude each other`)
  if ((only(query, 'group-log') ?? `${DEFAULT_GROUP_LOG}`) !== `${DEFAULT_GROUP_LOG}`) {
    throw notAcceptable(`members are served at group log ${DEFAULT_GROUP_LOG}`)
  }
  const boundaries = boundariesIn('members', text)
  const spans = /** @type {[number, number][]} */ ([])
  for (let i = 0; i < boundaries.length; i += 2) spans.push([boundaries[i], boundaries[i + 1]])
  const count = spans.reduce((sum, [start, end]) => sum + end - start, 0)
  if (count > MAX_MEMBERS) throw badRequest(`"members" expected at most ${MAX_MEMBERS} members, got ${count}`)
  return { spans, label: labelOf(text) }
}
