// Tickets have the text that iroh writes.
import { base32 } from 'multiformats/bases/base32'
import { expect } from 'chai'
import fc from 'fast-check'
import { toCid } from '../../../../lib/index.js'
import { formatTicket, isTicket, parseTicket } from '../../../../exchange/iroh/wire/ticket.js'
import { concat, hex, unhex } from '../../../support/bytes.js'
import { errorOf } from '../../../support/feeding.js'
import { holds } from '../../../support/property.js'
import { expectSlip } from '../../../support/slips.js'

const ID = 'ae58ff8833241ac82d6ff7611046ed67b5072d142c588d0063e942d9a75502b6'
const HASH = '0b84d358e4c8be6c38626b2182ff575818ba6bd3f4b90464994be14cb354a072'
const RELAY = new TextEncoder().encode('http://derp.me./')
const HASHSEQ = 0x80
const raw = toCid(unhex(HASH))
const sequence = toCid(unhex(HASH), HASHSEQ)

/** The text of a ticket with these bytes. */
const textOf = (...parts) => `blob${base32.baseEncode(concat(parts.map(part => unhex(part))))}`
const faultOf = text => errorOf(() => parseTicket(text))

/** Tickets from iroh's own tests, and others by the same rules. */
const TICKETS = {
  'of a peer without addresses': {
    bytes: ['00', ID, '00', '00', '00', HASH],
    ticket: { cid: raw, address: { id: ID, addresses: [] } }
  },
  'of a sequence at a relay and an address': {
    bytes: ['00', ID, '01', '10', hex(RELAY), '01', '00', '7f000001', '8008', '01', HASH],
    ticket: { cid: sequence, address: { id: ID, relayUrl: 'http://derp.me./', addresses: ['127.0.0.1:1024'] } }
  },
  'of addresses of both kinds': {
    bytes: [
      '00', ID, '00', '03', '00', '0a000001', '01', '00', 'c0a80001', 'ffff03',
      '01', '20010db8000000000000000000000001', '0a', '00', HASH
    ],
    ticket: { cid: raw, address: { id: ID, addresses: ['10.0.0.1:1', '192.168.0.1:65535', '[2001:db8::1]:10'] } }
  }
}

describe('a ticket', () => {
  for (const [what, { bytes, ticket }] of Object.entries(TICKETS)) {
    it(`${what} has iroh's text`, () => {
      const text = textOf(...bytes)
      expect(formatTicket(ticket)).to.equal(text)
      const { cid, address } = parseTicket(text)
      expect(address).to.deep.equal(ticket.address)
      expect(`${cid}`).to.equal(`${ticket.cid}`)
      expect(isTicket(text)).to.equal(true)
    })
  }

  it('is read in capitals, too, as in QR codes', () => {
    const text = formatTicket({ cid: raw, address: { id: ID } })
    expect(`${parseTicket('blob' + text.slice(4).toUpperCase()).cid}`).to.equal(`${raw}`)
  })

  it('has each address once, in the order of iroh', () => {
    const addresses = ['[::1]:5', '9.0.0.1:300', '9.0.0.1:80', '[::]:5', '10.0.0.1:1', '9.0.0.1:80', '[0:0::1]:5']
    const text = formatTicket({ cid: raw, address: { id: ID, addresses } })
    expect(parseTicket(text).address.addresses)
      .to.deep.equal(['9.0.0.1:80', '9.0.0.1:300', '10.0.0.1:1', '[::]:5', '[::1]:5'])
  })

  it('is made from names of blobs in every form', () => {
    const text = formatTicket({ cid: raw, address: { id: ID } })
    for (const cid of [HASH, unhex(HASH), `${raw}`]) expect(formatTicket({ cid, address: { id: ID } })).to.equal(text)
  })

  describe('is refused', () => {
    const good = ['00', ID, '00', '00', '00', HASH]
    const changed = (at, part) => textOf(...good.with(at, part))
    const FAULTS = {
      'that is of another kind': 'node' + textOf(...good).slice(4),
      'with capitals at its beginning': textOf(...good).toUpperCase(),
      'that is empty': 'blob',
      'that is longer than 4096 characters': textOf(...good) + 'a'.repeat(4096),
      'with a digit that base32 does not have': textOf(...good).slice(0, -1) + '1',
      'with bits after the last byte': textOf(...good).slice(0, -1) + 'z',
      'of another version': changed(0, '01'),
      'with an invalid mark for the relay': changed(2, '02'),
      'with a relay that is no URL': changed(2, '010161'),
      'with a relay that is not UTF-8': changed(2, '0102ffff'),
      'with a relay that is longer than the rest': changed(2, '01ff01'),
      'with a count of addresses that is longer than the rest': changed(3, 'ffffffff0f'),
      'with an address of an unknown kind': changed(3, '0102'),
      'with a port above 65535': changed(3, '01007f000001808004'),
      'with an unknown format': changed(4, '02'),
      'that ends too early': textOf(...good.slice(0, -1)),
      'with bytes after its end': textOf(...good, '00')
    }
    for (const [what, text] of Object.entries(FAULTS)) {
      it(what, async () => expect(await faultOf(text)).to.have.property('code', 'TICKET_INVALID'))
    }

    it('as anything but a text', async () => {
      for (const value of [undefined, null, 5, {}]) await expectSlip('ticket', () => parseTicket(value))
    })

    it('when it would be written with an invalid address', async () => {
      const write = address => () => formatTicket({ cid: raw, address })
      for (const id of [undefined, 'ab', ID + '0', 5]) await expectSlip('address.id', write({ id }))
      await expectSlip('address.relayUrl', write({ id: ID, relayUrl: 'no url' }))
      await expectSlip('address.addresses', write({ id: ID, addresses: '127.0.0.1:1' }))
      for (const text of ['', ':1', '127.0.0.1', '127.1:1', '256.0.0.1:1', '1.2.3.4:65536', '[::1]', '::1:1', '[::g]:1',
        '[1::2::3]:1', 'localhost:1', '[fe80::1%1]:1']) {
        await expectSlip('addresses', write({ id: ID, addresses: [text] }))
      }
    })
  })

  // WebKit's URL refuses some addresses that end in the form of IPv4.
  const ipV6 = fc.ipV6().map(ip => `[${ip}]`).filter(host => URL.canParse(`http://${host}`))
  // Not `fc.webUrl()`: it takes a second to be made.
  const text = fc.string({ maxLength: 30 }).map(encodeURIComponent)
  const name = fc.string({ unit: fc.constantFrom(...'az09'), minLength: 1, maxLength: 50 })
  const urls = fc.tuple(fc.constantFrom('http', 'https'), name, fc.nat(65_535), text, text)
    .map(([scheme, name, port, path, query]) => new URL(`${scheme}://${name}.example:${port}/${path}?${query}`).href)
  const tickets = fc.record({
    root: fc.uint8Array({ minLength: 32, maxLength: 32 }),
    code: fc.constantFrom(0x55, HASHSEQ),
    id: fc.uint8Array({ minLength: 32, maxLength: 32 }).map(hex),
    relayUrl: fc.option(urls, { nil: undefined }),
    hosts: fc.array(fc.oneof(fc.ipV4(), ipV6), { maxLength: 5 }),
    port: fc.nat(65_535)
  }).map(({ root, code, id, relayUrl, hosts, port }) => {
    const addresses = hosts.map(host => `${new URL(`http://${host}`).hostname}:${port}`)
    return { cid: toCid(root, code), address: { id, ...relayUrl && { relayUrl }, addresses } }
  })

  it('survives being written and read', () => holds('iroh ticket', fc.property(tickets, ticket => {
    const { cid, address } = parseTicket(formatTicket(ticket))
    expect(`${cid}`).to.equal(`${ticket.cid}`)
    expect(address.addresses).to.have.members([...new Set(ticket.address.addresses)])
    expect({ ...address, addresses: [] }).to.deep.equal({ ...ticket.address, addresses: [] })
    expect(formatTicket({ cid, address })).to.equal(formatTicket(ticket))
  })))

  it('with changed letters is read or refused', () => holds('iroh ticket, changed',
    fc.property(tickets, fc.nat(), fc.string({ maxLength: 2 }), (ticket, place, letters) => {
      const text = formatTicket(ticket)
      const at = place % text.length
      try {
        parseTicket(text.slice(0, at) + letters + text.slice(at + 1))
      } catch (error) {
        expect(error.code).to.equal('TICKET_INVALID')
      }
    }), 300))
})
