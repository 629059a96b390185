// The browser engines in which the suites run. Each finds an installed browser, and drives it.
import { chromium } from './chromium.js'
import { firefox } from './firefox.js'
import { installDrivers, installPackages } from './programs.js'
import { webkit } from './webkit.js'

/**
 * @typedef {object} Engine
 * @property {string} title
 * @property {string[]} packages  the packages of Debian with the browser
 * @property {() => any} find  gives the argument of `start`; undefined if the browser is not installed
 * @property {(found: any, onGone: (reason: string) => void) => Promise<Browser>} start  with an empty profile; `onGone`
 *   is called when the page crashes or the browser ends
 *
 * @typedef {object} Browser  one page of a browser
 * @property {string} version
 * @property {string} [profile]  the folder where the browser keeps what pages store; undefined if it is in memory
 * @property {(url: string) => Promise<void>} open  resolves when the page has loaded
 * @property {(run: Function, ...args: any[]) => Promise<any>} evaluate  runs a function in the page. Its arguments and
 *   its result are JSON, and it uses nothing outside of itself; it may be asynchronous
 * @property {(selector: string) => Promise<void>} follow  clicks a link; resolves when its target has loaded
 * @property {() => Promise<Buffer>} screenshot  the visible part of the page, as PNG
 * @property {(width: number, height: number) => Promise<void>} resize  the visible part of the page, in pixels of CSS
 * @property {(origin: string, bytes?: number) => Promise<void>} [setQuota]  sets the quota of a site; without bytes, to
 *   that of the browser
 * @property {() => Promise<void>} [stopWorkers]  makes all service workers stop, now or soon, as a browser does that
 *   needs memory; undefined if the driver cannot do that
 * @property {() => Promise<void>} [kill]  kills the process of the page, or the whole browser, in the middle of its
 *   work, and opens an empty page with the same profile; undefined if the driver cannot do that
 * @property {() => Promise<void>} close  ends the browser and removes the profile
 */

/** @type {Record<string, Engine>} */
export const ENGINES = { chromium, firefox, webkit }

/**
 * @param {Engine} engine
 * @param {boolean} install  whether Debian's packages may be installed
 * @returns {{ found?: any, reason?: string }} the argument of `engine.start`, or why the engine is not available
 */
export function prepare (engine, install) {
  if (!installDrivers()) return { reason: 'the packages in test/browser/engines could not be installed' }
  const found = engine.find() ?? (install && installPackages(engine.packages) ? engine.find() : undefined)
  if (found !== undefined) return { found }
  const packages = `Debian's ${engine.packages.join(' and ')}`
  return { reason: install ? `${packages} could not be installed` : `none was found; --install gets ${packages}` }
}
