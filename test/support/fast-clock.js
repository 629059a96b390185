// A clock that runs 5 times as fast, for programs that measure for a fixed time. `node --import` loads it first.
const now = performance.now.bind(performance)
performance.now = () => 5 * now()
