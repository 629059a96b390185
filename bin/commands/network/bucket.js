// baobox bucket

import { adopt, s3 } from '../../../exchange/bucket/index.js'
import { UsageError, errorLine, errorRecord } from '../../terminal/errors.js'
import { arrivalText, entryText } from '../../terminal/format.js'
import { printResult } from '../../terminal/output.js'
import { withProgress } from '../../terminal/progress.js'
import { asUsage, bucketIn } from '../store/bucket-url.js'

/** @import { Run } from '../../types.js' */

/** @type {Run<typeof import('../../table/buckets.js').bucket>} */
export async function bucket ({ values, operands: [action, url] }, { signal, fail }) {
  if (action !== 'adopt') throw new UsageError(`unknown action '${action}': expected adopt`)
  const { endpoint, region, recheck, parallel } = values
  const { name, prefix } = bucketIn(url)
  const opened = asUsage(() => s3({ bucket: name, endpoint, region }))
  await withProgress({ name: url }, async (onProgress, hide) => {
    for await (const result of asUsage(() => adopt(opened, { prefix, recheck, parallel, signal, onProgress }))) {
      hide()
      const { key, cid, size, isNew, error } = result
      if (error === undefined) {
        const line = `${arrivalText(values, { cid, size, isNew })}  ${entryText(key)}`
        await printResult(values, { key, cid: `${cid}`, size, isNew }, line)
        continue
      }
      const line = errorLine(error).replace(/^baobox: /, `baobox: left out ${entryText(key)}: `)
      const record = { key, error: errorRecord(error, {}) }
      process.stderr.write(`${values.json ? JSON.stringify(record) : line}\n`)
      fail()
    }
  })
}
