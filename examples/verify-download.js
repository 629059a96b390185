// Downloads a file, or a part of it, from a server that nobody has to trust. Bytes are verified while they arrive.
//
//   node verify-download.js URL CID [START] [END] > part
//
// serve-file.js prints the URL and the CID.

import { fetchVerified } from 'baobox/verifier'

const [url, cid, start, end] = process.argv.slice(2)

try {
  const response = await fetchVerified(url, { cid, range: { start: toNumber(start), end: toNumber(end) } })
  for await (const bytes of response.body) process.stdout.write(bytes)     // right, even if later ones are wrong
} catch (error) {
  // BAO_LEAF_MISMATCH, BAO_PARENT_MISMATCH: the server sent wrong bytes. BAO_TRUNCATED, FETCH_FAILED: try again.
  console.error(`${error.code}: ${error.message}`)
  process.exitCode = 1
}

function toNumber (text) { return text === undefined ? undefined : Number(text) }
