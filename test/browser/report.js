// The first script of both pages: sends what they report to run.js, one request at a time, so that all of it arrives
// in order. It is not a module, so that it also reports when the modules cannot be loaded.
{
  const { fetch } = globalThis // some suites replace it
  const waiting = []
  let isSending = false

  /**
   * @param {object} event
   * @param {true} [event.begin]  the suites begin
   * @param {string} [event.line]  to print
   * @param {string} [event.error]  outside of any test
   * @param {{ passes: number, pending: number, failures: number }} [event.outcome]  the suites have ended
   */
  globalThis.report = async event => {
    waiting.push(event)
    if (isSending) return
    isSending = true
    while (waiting.length > 0) await fetch('/report', { method: 'POST', body: JSON.stringify(waiting.splice(0)) })
    isSending = false
  }

  /** @param {any} error @returns {string} the message and the stack; only V8's stack has the message */
  globalThis.textOf = error => {
    const { stack = '' } = error ?? {}
    return stack.includes(error?.message) ? stack : `${error}\n${stack}`.trim()
  }

  globalThis.addEventListener('error', ({ message, error }) => {
    globalThis.report({ error: globalThis.textOf(error ?? message) })
  })
  globalThis.addEventListener('unhandledrejection', event => {
    // Later, because the listeners of suites come after this one.
    setTimeout(() => event.defaultPrevented || globalThis.report({ error: globalThis.textOf(event.reason) }))
  })

  if (new URLSearchParams(globalThis.location.search).get('quota') === 'true') {
    /** @param {number} [bytes]  the quota of this site; without it, that of the browser */
    globalThis.setQuota = bytes => fetch('/quota', { method: 'POST', body: JSON.stringify({ bytes }) })
  }

  performance.setResourceTimingBufferSize(100_000) // suites look there for a script, after all the reports
}
