// Tests which kernel a page uses. The other suites skip a kernel that is not available; this one fails.
import { expect } from 'chai'
import { useKernel } from '../../lib/engine/kernel/index.js'
import { hash, hashStream, kernelName } from '../../lib/index.js'
import { errorOf } from '../support/feeding.js'
import { hex } from '../support/bytes.js'

const expected = new URLSearchParams(globalThis.location.search).get('kernel')

/** The shortest WebAssembly module. */
const MODULE = Uint8Array.of(0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00)

describe('a page', () => {
  it('uses the kernel that its policy allows', () => {
    expect(expected).to.be.oneOf(['simd', 'js'])
    expect(kernelName()).to.match(new RegExp(`^${expected}`))
  })

  it('hashes with this kernel', () => {
    expect(hex(hash(new Uint8Array(0)))).to.equal('af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262')
  })

  if (expected === 'js') {
    it('that refuses WebAssembly throws when the SIMD kernel is forced', () => {
      // WebKit refuses the instance, the other engines refuse the module.
      expect(() => new WebAssembly.Instance(new WebAssembly.Module(MODULE))).to.throw(WebAssembly.CompileError)
      expect(() => useKernel('simd')).to.throw(WebAssembly.CompileError)
      expect(kernelName()).to.equal('js')
    })
  }

  it('refuses a path, since it has no files', async () => {
    const error = await errorOf(hashStream('a path'))
    expect(error).to.be.instanceOf(TypeError).with.property('message').that.includes('paths are not supported')
  })

  it('hashes a response while it arrives', async () => {
    const url = '/checkout/test/vectors/vectors.json'
    const whole = new Uint8Array(await (await fetch(url)).arrayBuffer())
    expect(whole.length).to.be.greaterThan(700_000)
    expect(await hashStream((await fetch(url)).body)).to.deep.equal(hash(whole))
  })
})
