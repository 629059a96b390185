// Replaces aegir, a large build tool, of which interface-blockstore-tests needs one thing: aegir's chai, with
// promises (`eventually`, `rejected`), and with properties that may be called (`to.be.true()`).
import * as chai from 'chai'
import chaiAsPromised from 'chai-as-promised'

chai.use(chaiAsPromised)
chai.use(({ Assertion }) => {
  for (const name of ['true', 'false', 'ok']) {
    const { get } = Object.getOwnPropertyDescriptor(Assertion.prototype, name)
    Assertion.addChainableMethod(name, () => {}, function () { get.call(this) })
  }
})

export const { expect } = chai
