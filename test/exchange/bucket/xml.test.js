import { expect } from 'chai'
import { escaped, parseXml, textIn } from '../../../exchange/bucket/xml.js'

describe('XML of a bucket', () => {
  it('is read into elements and texts', () => {
    const root = parseXml('\ufeff<?xml version="1.0" encoding="UTF-8"?>\n<a:List xmlns:a="urn:x" b=\'>\'>\n' +
      ' <Key>a &amp;&lt;&gt;&quot;&apos; &#38;&#x1F600; b</Key><Empty/><Empty ></Empty ><Key>2</Key>\n</a:List>\n')
    expect(root.name).to.equal('List')
    expect(root.children.map(({ name, text }) => [name, text])).to.deep.equal([
      ['Key', 'a &<>"\' &\u{1f600} b'], ['Empty', ''], ['Empty', ''], ['Key', '2']
    ])
    expect(textIn(root, 'Key')).to.equal('a &<>"\' &\u{1f600} b')
    expect(textIn(root, 'Other')).to.equal(undefined)
  })

  it('is read back after it was escaped', () => {
    const text = '<&>"\' \u00e4 &amp;'
    expect(parseXml(`<a>${escaped(text)}</a>`).text).to.equal(text)
  })

  const WRONG = {
    'no element': ['', ' ', '<?xml version="1.0"?>'],
    'text outside': ['x', '<a/>x', 'x<a/>'],
    'what is cut off': ['<a', '<a>', '<a><b></b>', '<a>x', '<a></a', '<a>&am'],
    'tags that do not fit': ['<a></b>', '</a>', '<a><b></a></b>', '<a/></a>', '<x:a></y:a>', '<a/><b/>'],
    'document types, which could name files and grow': [
      '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', '<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>'
    ],
    'entities that are not known': [
      '<a>&b;</a>', '<a>&</a>', '<a>&;</a>', '<a>&#0;</a>', '<a>&#xD800;</a>', '<a>&#x110000;</a>'
    ],
    'comments, CDATA and instructions': ['<a><!-- b --></a>', '<a><![CDATA[b]]></a>', '<a><?b c?></a>'],
    'tags that are none': ['<>', '< a/>', '<a b/>', '<a b=c/>', '<a "b"/>', '<1/>', '<a <b/></a>']
  }
  for (const [what, texts] of Object.entries(WRONG)) {
    it(`is refused with ${what}`, () => {
      for (const text of texts) expect(() => parseXml(text), text).to.throw(SyntaxError)
    })
  }

  it('is refused if it is too deep', () => {
    const nested = depth => `${'<a>'.repeat(depth)}${'</a>'.repeat(depth)}`
    expect(parseXml(nested(16)).name).to.equal('a')
    expect(() => parseXml(nested(17))).to.throw(SyntaxError, 'too many levels')
  })

  it('is refused if it has more elements than any answer', () => {
    const many = count => `<a>${'<b/>'.repeat(count - 1)}</a>`
    expect(parseXml(many(1 << 16)).children).to.have.length((1 << 16) - 1)
    expect(() => parseXml(many((1 << 16) + 1))).to.throw(SyntaxError, 'too many elements')
  })
})
