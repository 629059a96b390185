// Asks the server of the demo for the states of the hosts, and changes them.

/** @import { HostState } from '../../hosts.js' */

const HOSTS = 'hosts'

/** @returns {Promise<HostState[] | undefined>} undefined if the page is not served by `baobox demo --web` */
export const statesOfHosts = () => states(fetch(HOSTS))

/** @param {Partial<HostState> & { name: string }} change @returns {Promise<HostState[] | undefined>} */
export const setHost = change => states(fetch(HOSTS, {
  method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(change)
}))

/** @param {Promise<Response>} answering @returns {Promise<HostState[] | undefined>} */
async function states (answering) {
  const answer = await answering.catch(() => undefined)
  return answer?.ok ? answer.json().catch(() => undefined) : undefined
}
