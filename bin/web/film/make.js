// Draws the film of the demo page, and encodes it with ffmpeg: `node bin/web/film/make.js`. The film is a landscape
// that passes by during one day; a clock in the picture shows the time in the film, so that one sees where a seek has
// led.
// The same version of ffmpeg makes the same bytes.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { stat, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { hashStream, toCid } from '../../../lib/index.js'

const [WIDTH, HEIGHT, FPS, SECONDS] = [480, 270, 24, 96]
const BITS_PER_SECOND = 132_000
const FILM = fileURLToPath(new URL('film.webm', import.meta.url))
const FACTS = fileURLToPath(new URL('../page/film/facts.js', import.meta.url))

/** @typedef {[number, number, number]} Color  red, green and blue, 0 to 255 */

/** The colours of the sky, top and horizon, from midnight to midnight. @type {[number, Color, Color][]} */
const SKY = [
  [0.00, [11, 16, 38], [24, 32, 66]],
  [0.18, [24, 30, 70], [92, 66, 110]],
  [0.27, [88, 118, 176], [250, 176, 128]],
  [0.36, [104, 162, 214], [206, 226, 232]],
  [0.60, [88, 156, 216], [204, 228, 236]],
  [0.73, [98, 104, 168], [255, 158, 92]],
  [0.81, [42, 38, 92], [168, 84, 104]],
  [0.92, [14, 20, 46], [30, 36, 74]],
  [1.00, [11, 16, 38], [24, 32, 66]]
]

/** Hills from the farthest to the nearest: base line, height, length of the waves, pixels a second, darkness. */
const HILLS = [
  { base: 176, height: 34, wave: 310, speed: 5, shade: 0.30, seed: 1.7 },
  { base: 202, height: 26, wave: 190, speed: 13, shade: 0.55, seed: 4.1 },
  { base: 232, height: 20, wave: 120, speed: 31, shade: 0.80, seed: 8.6 }
]
/** @type {Color} */
const GROUND = [18, 34, 36]
/** @type {Color} */
const SUN = [255, 236, 190]
const STARS = 90

/** The rows of the digits and of the colon, 3 x 5 points each, a bit for each point. */
const GLYPHS = [
  [7, 5, 5, 5, 7], [2, 6, 2, 2, 7], [7, 1, 7, 4, 7], [7, 1, 7, 1, 7], [5, 5, 7, 1, 1],
  [7, 4, 7, 1, 7], [7, 4, 7, 5, 7], [7, 1, 1, 2, 2], [7, 5, 7, 5, 7], [7, 5, 7, 1, 7], [0, 2, 0, 2, 0]
]
const POINT = 6

/** @param {number} from @param {number} to @param {number} share */
const mix = (from, to, share) => from + (to - from) * share

/** @param {Color} from @param {Color} to @param {number} share @returns {Color} */
const blend = (from, to, share) => [mix(from[0], to[0], share), mix(from[1], to[1], share), mix(from[2], to[2], share)]

/** A number from 0 to 1 that looks random, always the same for the same index. @param {number} index */
const noise = index => {
  const value = Math.sin(index * 127.1 + 311.7) * 43758.5453
  return value - Math.floor(value)
}

/** The colours of the sky at a time of the day, 0 to 1. @param {number} day @returns {[Color, Color]} */
function skyAt (day) {
  const next = Math.max(1, SKY.findIndex(([time]) => time >= day))
  const [[from, top, low], [to, nextTop, nextLow]] = [SKY[next - 1], SKY[next]]
  const share = (day - from) / (to - from)
  return [blend(top, nextTop, share), blend(low, nextLow, share)]
}

/** The y of a hill at an x. @param {(typeof HILLS)[number]} hill @param {number} x */
const hillAt = ({ base, height, wave, seed }, x) => base - height * (
  0.6 * Math.sin(x / wave * 2 * Math.PI + seed) + 0.3 * Math.sin(x / wave * 4.7 + seed * 3) +
  0.1 * Math.sin(x / wave * 13 + seed * 7))

/** @param {Uint8Array} frame @param {number} x @param {number} y @param {Color} color @param {number} [alpha] */
function dot (frame, x, y, color, alpha = 1) {
  if (x < 0 || y < 0 || x >= WIDTH || y >= HEIGHT) return
  const at = 3 * (y * WIDTH + x)
  for (let i = 0; i < 3; i++) frame[at + i] = mix(frame[at + i], color[i], alpha)
}

/** @param {Uint8Array} frame @param {number} cx @param {number} cy @param {number} r @param {Color} color */
function drawDisc (frame, cx, cy, r, color) {
  for (let y = Math.floor(cy - 4 * r); y <= cy + 4 * r; y++) {
    for (let x = Math.floor(cx - 4 * r); x <= cx + 4 * r; x++) {
      const distance = Math.hypot(x - cx, y - cy)
      const edge = Math.min(1, Math.max(0, r + 0.5 - distance))
      const glow = 0.35 * Math.max(0, 1 - distance / (4 * r)) ** 2
      dot(frame, x, y, color, Math.max(edge, glow))
    }
  }
}

/** @param {Uint8Array} frame @param {number} second */
function drawClock (frame, second) {
  const text = `${Math.floor(second / 60)}:${String(second % 60).padStart(2, '0')}`
  const [left, top] = [18, HEIGHT - 18 - 5 * POINT]
  for (const [at, letter] of [...text].entries()) {
    const rows = GLYPHS[letter === ':' ? 10 : Number(letter)]
    for (let y = 0; y < 5 * POINT; y++) {
      for (let x = 0; x < 3 * POINT; x++) {
        const isSet = rows[Math.floor(y / POINT)] >> (2 - Math.floor(x / POINT)) & 1
        if (isSet) dot(frame, left + at * 4 * POINT + x, top + y, [250, 248, 240])
      }
    }
  }
}

/** Draws one picture as RGB. @param {number} number  of the frame @returns {Uint8Array} */
function draw (number) {
  const frame = new Uint8Array(3 * WIDTH * HEIGHT)
  const seconds = number / FPS
  const day = 0.16 + 0.80 * seconds / SECONDS
  const [top, low] = skyAt(day)
  for (let y = 0; y < HEIGHT; y++) {
    const color = blend(top, low, Math.min(1, y / 190) ** 1.4)
    for (let x = 0; x < WIDTH; x++) frame.set(color, 3 * (y * WIDTH + x))
  }
  const light = Math.max(0, Math.sin((day - 0.22) / 0.56 * Math.PI))
  const dark = Math.max(0, 1 - 4 * light)
  for (let i = 0; i < STARS; i++) {
    const twinkle = 0.55 + 0.45 * Math.sin(seconds * (1 + noise(i + 300)) + i)
    const x = Math.floor(noise(i) * WIDTH)
    dot(frame, x, Math.floor(noise(i + 100) * 150), [255, 255, 255], dark * twinkle)
  }
  const arc = (day - 0.22) / 0.56
  if (arc > -0.1 && arc < 1.1) {
    drawDisc(frame, 30 + arc * (WIDTH - 60), 190 - 150 * Math.sin(arc * Math.PI), 14, SUN)
  }
  for (const hill of HILLS) {
    const color = blend(low, GROUND, hill.shade * (0.75 + 0.25 * (1 - light)))
    for (let x = 0; x < WIDTH; x++) {
      const edge = hillAt(hill, x + seconds * hill.speed)
      for (let y = Math.max(0, Math.floor(edge)); y < HEIGHT; y++) {
        dot(frame, x, y, color, Math.min(1, y + 1 - edge))
      }
    }
  }
  drawPosts(frame, seconds)
  drawClock(frame, Math.floor(seconds))
  return frame
}

/** Posts beside the track, which pass quickly. @param {Uint8Array} frame @param {number} seconds */
function drawPosts (frame, seconds) {
  const gap = 170
  for (let post = -1; post < 4; post++) {
    const x = Math.floor(post * gap + gap - (seconds * 74) % gap)
    for (let y = 168; y < HEIGHT; y++) for (let dx = 0; dx < 4; dx++) dot(frame, x + dx, y, GROUND)
    for (let dx = -9; dx < 13; dx++) for (let y = 176; y < 179; y++) dot(frame, x + dx, y, GROUND)
  }
}

const ARGS = [
  '-loglevel', 'error', '-y', '-f', 'rawvideo', '-pix_fmt', 'rgb24', '-s', `${WIDTH}x${HEIGHT}`, '-r', `${FPS}`,
  '-i', '-', '-an', '-c:v', 'libvpx-vp9', '-b:v', `${BITS_PER_SECOND}`, '-minrate', `${BITS_PER_SECOND / 2}`,
  '-maxrate', `${BITS_PER_SECOND * 1.5}`, '-g', `${2 * FPS}`, '-pix_fmt', 'yuv420p', '-deadline', 'good',
  '-cpu-used', '2', '-threads', '1', '-fflags', '+bitexact', '-flags:v', '+bitexact', '-map_metadata', '-1',
  '-cues_to_front', '1', FILM
]
const encoder = spawn('ffmpeg', ARGS, { stdio: ['pipe', 'inherit', 'inherit'] })
const ended = once(encoder, 'exit')
for (let number = 0; number < FPS * SECONDS; number++) {
  if (!encoder.stdin.write(draw(number))) await Promise.race([once(encoder.stdin, 'drain'), ended])
}
encoder.stdin.end()
const [code] = await ended
if (code !== 0) throw new Error(`ffmpeg ended with exit code ${code}`)
const { size } = await stat(FILM)
await writeFile(FACTS, `// What the page knows of the film before it asks anybody. Made by: node bin/web/film/make.js

/** The name of the film: whoever sends it cannot change a byte of it unnoticed. */
export const FILM = '${toCid(await hashStream(FILM))}'
/** Bytes. */
export const FILM_LEN = ${size}
/** Seconds. */
export const FILM_SECONDS = ${SECONDS}
`)
