// A process that downloads a blob to a file until download.test.js kills it. It prints its progress, and at the end
// the result.
import { downloadFile } from '../../exchange/download/index.js'

const [cid, path, ...from] = process.argv.slice(2)

let shown = -Infinity
const onProgress = ({ detail }) => {
  if (performance.now() - shown < 100) return
  shown = performance.now()
  console.log(JSON.stringify({ done: detail.done, total: detail.total, rate: detail.rate, timeLeft: detail.timeLeft }))
}
const { received, complete, mirrors } = await downloadFile(cid, path, { from, stall: 5000, onProgress })
const said = mirrors.map(({ error, ...mirror }) => ({ ...mirror, error: error?.message }))
const { maxRSS } = process.resourceUsage()
console.log(JSON.stringify({ end: { received, complete, mirrors: said, memory: maxRSS * 1024 } }))
