// The script of browser.html: keeps the files that the user chooses in a store in IndexedDB, and reads them back.
// A file of any length is stored piece by piece. The store is still there when the page is opened again.

import { BlobStore } from 'baobox/store'

const input = document.querySelector('#files')
const output = document.querySelector('#output')
const print = line => { output.textContent += `${line}\n` }

const store = await BlobStore.open('files')
for await (const { cid, size } of store.list()) print(`kept from before: ${cid}, ${size} bytes`)

input.addEventListener('change', async () => {
  for (const file of input.files) {
    const onProgress = ({ detail: { done } }) => { input.title = `${file.name}: ${done} of ${file.size} bytes` }
    const { cid, isNew } = await store.put(file, { onProgress })
    print(`${file.name}: ${cid}${isNew ? '' : ', known already'}`)

    const beginning = await store.bytes(cid, { start: 0, end: 16 })     // verified
    print(`  begins with ${[...beginning].map(byte => byte.toString(16).padStart(2, '0')).join(' ')}`)
  }
})
