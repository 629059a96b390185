// Adds to Node.js 20 what Helia needs and it lacks. It must be loaded first.

Promise.withResolvers ??= function () {
  let settle
  const promise = new this((resolve, reject) => { settle = { resolve, reject } })
  return { promise, ...settle }
}
