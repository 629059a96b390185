// Makes a file for visitors who have none at hand.

const SAMPLE_LEN = 64 << 20

/** 64 MiB, always the same, whose pieces differ. @returns {Blob} */
export function makeSample () {
  const parts = []
  for (let part = 0; part < SAMPLE_LEN >> 20; part++) {
    const words = new Uint32Array(1 << 18)
    for (let i = 0, word = part + 1; i < words.length; i++) words[i] = word = Math.imul(word, 1664525) + 1013904223
    parts.push(words)
  }
  return new Blob(parts)
}
