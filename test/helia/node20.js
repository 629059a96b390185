// What Helia takes for granted and Node.js 20 does not have. Loaded before anything else.

Promise.withResolvers ??= function () {
  let settle
  const promise = new this((resolve, reject) => { settle = { resolve, reject } })
  return { promise, ...settle }
}
