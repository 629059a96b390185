// Prints the name of a file: its BLAKE3 hash, and the CID with the same hash.
//
//   node cid.js FILE

import { hashStream, toCid } from 'baobox'

const [file = import.meta.filename] = process.argv.slice(2)

const root = await hashStream(file)     // any length: the file is never in memory as a whole
console.log(`hash  ${Buffer.from(root).toString('hex')}`)     // as b3sum prints it
console.log(`cid   ${toCid(root)}`)
