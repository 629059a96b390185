// Reads `Link` headers of honest and hostile servers.
import { expect } from 'chai'
import fc from 'fast-check'
import { duplicateLinks, hasPlainLink, outboardLinks } from '../../../../verifier/mirrors/server/links.js'
import { holds } from '../../../support/property.js'

const base = new URL('https://a.example/files/movie?key=1')
const duplicates = (header, from = base) => duplicateLinks(header, from).map(({ href }) => href)

describe('duplicates in a Link header', () => {
  it('come in the order that the server prefers, those without a priority last', () => {
    const header = [
      '<https://d.example/movie>; rel=duplicate',
      '<https://c.example/movie>; rel="duplicate"; pri=30; geo=de',
      '<https://b.example/movie>; pri=2; rel="describedby Duplicate"',
      '</other/movie>; rel=duplicate; pri="1"'
    ].join(', ')
    expect(duplicates(header)).to.deep.equal([
      'https://a.example/other/movie', 'https://b.example/movie', 'https://c.example/movie', 'https://d.example/movie'
    ])
  })

  it('have this relation, and not only its name in another parameter', () => {
    for (const header of [
      '<https://b.example/>; rel=describedby', '<https://b.example/>; rel=duplicates', '<https://b.example/>',
      '<https://b.example/>; title="rel=duplicate"', 'https://b.example/; rel=duplicate', '', ',,,', '<', '<>', '>;rel'
    ]) expect(duplicates(header), header).to.deep.equal([])
  })

  it('are always HTTP, and never unencrypted if the header came encrypted', () => {
    for (const target of [
      'javascript:alert(1)', 'file:///etc/passwd', 'data:,x', 'blob:https://a.example/1', 'ftp://b.example/',
      'http://b.example/', 'HTTP://b.example/', '//user:password@b.example/', 'https://user@b.example/', 'https://',
      'http:b', '\\\\b\\c\0'
    ]) {
      const urls = duplicates(`<${target}>; rel=duplicate`)
      for (const url of urls) expect(url, target).to.match(/^https:\/\/[^@]*$/)
      if (/^(javascript|file|data|blob|ftp|http):/i.test(target)) expect(urls, target).to.deep.equal([])
    }
    expect(duplicates('<http://b.example/>; rel=duplicate', new URL('http://a.example/')))
      .to.deep.equal(['http://b.example/'])
  })

  it('are relative to the URL of the answer, and never unencrypted if the request or the answer was encrypted', () => {
    const moved = new URL('http://b.example/deep/movie')
    const header = '<x>; rel=duplicate, <https://c.example/>; rel=duplicate, </deep/movie>; rel=duplicate'
    const hrefs = asked => duplicateLinks(header, moved, new URL(asked)).map(({ href }) => href)
    expect(hrefs('http://a.example/movie')).to.deep.equal(['http://b.example/deep/x', 'https://c.example/'])
    expect(hrefs('https://a.example/movie')).to.deep.equal(['https://c.example/'])
    expect(duplicateLinks(`<${base}>; rel=duplicate`, new URL('https://b.example/'), base)).to.deep.equal([])
  })

  it('do not contain the URL itself, or a URL twice', () => {
    const header = ['', base, `${base}#x`, 'https://b.example/', 'https://b.example/#y', '//b.example']
      .map(target => `<${target}>; rel=duplicate`).join()
    expect(duplicates(header)).to.deep.equal(['https://b.example/'])
  })

  it('are only a few, however long the header is, and take at most linear time', () => {
    const many = Array.from({ length: 100_000 }, (_, i) => `<https://m${i}.example/>; rel=duplicate; pri=${i}`).join()
    expect(duplicates(many)).to.have.length(16)
    for (const piece of ['<', '<>', '<;', ';rel=', ';rel="', '; ', ' ', '<a>;rel=duplicate;pri=', '"', '<a>;']) {
      expect(duplicates(piece.repeat(1 << 20)).length, piece).to.be.at.most(16)
    }
  })

  it('are URLs that may be followed, for any header', () => {
    const part = fc.constantFrom('<', '>', ';', ',', '"', ' ', 'rel=duplicate', 'rel="duplicate"', 'pri=1', 'http:',
      'https:', '//b.example', '/x', '@', ':', '#', '?', 'javascript:', '\u0000', '%2f')
    return holds('links', fc.property(fc.array(part, { maxLength: 30 }), parts => {
      for (const url of duplicateLinks(parts.join(''), base)) {
        expect(url).to.include({ protocol: 'https:', username: '', password: '', hash: '' })
        expect(url.href).to.not.equal(base.href)
      }
    }), 500)
  })
})

describe('outboards in a Link header', () => {
  it('have the group log of their type, else of their name, else 4', () => {
    const header = [
      '<a>; rel=describedby; type="application/vnd.bao-outboard; group-log=6"', '<b.obao2>; rel=describedby',
      '<c>; rel=describedby', '<d.obao4>; rel=describedby'
    ].join(', ')
    expect(outboardLinks(header, base).map(({ url, groupLog }) => [url.pathname, groupLog])).to.deep.equal([
      ['/files/a', 6], ['/files/b.obao2', 2], ['/files/c', 4]
    ])
  })

  it('have possible group logs, and are found where duplicates may be', () => {
    for (const header of [
      '<a.obao99>; rel=describedby', '<javascript:0>; rel=describedby', '<http://b.example/>; rel=describedby',
      '<https://u:p@b.example/>; rel=describedby'
    ]) expect(outboardLinks(header, base), header).to.deep.equal([])
  })
})

describe('a link to plain bytes in a Link header', () => {
  it('has the relation `alternate`, among others', () => {
    for (const header of ['<a>; rel=alternate', '<a>; rel="Alternate"', '<b>; rel=duplicate, <a>; rel="x alternate"']) {
      expect(hasPlainLink(header, base), header).to.equal(true)
    }
    const others = ['', '<a>', '<a>; rel=alternates', '<a>; title="rel=alternate"', '<file:///a>; rel=alternate']
    for (const header of others) {
      expect(hasPlainLink(header, base), header).to.equal(false)
    }
  })
})
