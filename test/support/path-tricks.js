// Names in collections that must not become paths: on some system, each leads out of the folder or to the file of
// another name.

/** Lists of names by the trick that they try. Each list is one collection. @type {Record<string, string[]>} */
export const TRICKS = {
  'a parent folder': ['../out'],
  'a parent folder in the middle': ['top/../../out'],
  'a parent folder at the end': ['top/..'],
  'the folder itself': ['./out'],
  'the folder itself in the middle': ['top/./out'],
  'an absolute path': ['/tmp/out'],
  'an empty name': [''],
  'an empty part': ['top//out'],
  'a slash at the end': ['top/out/'],
  'a slash alone': ['/'],
  'a backslash': ['..\\out'],
  'a backslash at the beginning': ['\\out'],
  'a share of Windows': ['\\\\server\\share\\out'],
  'a device path of Windows': ['\\\\?\\C:\\out'],
  'a zero byte': ['out\0.txt'],
  'a zero byte after a parent folder': ['..\0/out'],
  'a drive letter': ['C:/out'],
  'a drive letter without a slash': ['c:out'],
  'a drive letter in the middle': ['top/D:out'],
  'a device': ['NUL'],
  'a device in lower case with an extension': ['top/aux.tar.gz'],
  'a device with spaces before the extension': ['con  .txt'],
  'a device as a folder': ['prn/out'],
  'a device with a digit': ['COM1'],
  'a device with a superscript digit': ['lpt²'],
  'a device with any other digit': ['COM\u2084'],
  'a device in wide characters': ['\uff23\uff2f\uff2e'],
  'a device in wide characters as a folder': ['top/\uff50\uff52\uff4e/out'],
  'a device in wide characters with a wide extension': ['\uff41\uff55\uff58\uff0e\uff54'],
  'a device in circled letters': ['\u24dd\u24e4\u24db.txt'],
  'a device with an odd space before the extension': ['con\u3000.txt'],
  'a device with a stream': ['nul:stream'],
  'the input of the console': ['CONIN$'],
  'a dot at the end': ['top./out'],
  'a space at the end': ['out '],
  'three dots': ['.../out'],
  'a wide dot at the end': ['out\uff0e'],
  'a dot of another kind at the end of a folder': ['out\u2024/a'],
  'a parent folder with a space at the end': ['.. /out'],
  'a parent folder with a dot and a space': ['top/. ./out'],
  'a parent folder with a zero-width character': ['.\u200b./out'],
  'a parent folder after a byte order mark': ['\ufeff../out'],
  'a parent folder in wide characters': ['\uff0e\uff0e/out'],
  'a parent folder as one character': ['\u2025/out'],
  'a wide slash': ['..\uff0fout'],
  'a wide backslash': ['..\uff3cout'],
  'a character that has a slash in it': ['\u2100'],
  'a part of zero-width characters only': ['top/\u200b/out'],
  'a device with a zero-width character': ['N\u00adUL'],
  'a dot and a zero-width character at the end': ['out.\u200d'],
  'an odd space and a zero-width character at the end': ['out\u00a0\ufe0f'],
  'a joiner after a letter that joins nothing': ['out\u200d'],
  'a variation selector after a letter that has no variants': ['out\ufe0f'],
  'a line feed at the end': ['out\n'],
  'a zero-width character at the beginning': ['top/\u200bout'],
  'a character that reverses the text after it': ['out\u202egpj.exe'],
  'an odd space for a space': ['a b', 'a\u00a0b'],
  'an odd space for another in a folder': ['a\u2003b/c', 'a\u3000b/d'],
  'the same name twice': ['out', 'out'],
  'a name in another case': ['top/out', 'top/OUT'],
  'a folder in another case': ['top/a', 'TOP/b'],
  'a folder in another case in the middle': ['top/a/b', 'top/A/c'],
  'another normal form': ['caf\u00e9', 'cafe\u0301'],
  'another normal form of a folder': ['caf\u00e9/a', 'cafe\u0301/b'],
  'another normal form in another case': ['CAF\u00c9', 'cafe\u0301'],
  'the sign of Kelvin for a letter': ['k', '\u212a'],
  'a long s': ['s', '\u017f'],
  'two letters for a sharp s': ['stra\u00dfe', 'STRASSE'],
  'two letters for a capital sharp s': ['stra\u1e9ee', 'strasse'],
  'a sharp s for a capital one': ['stra\u00dfe', 'stra\u1e9ee'],
  'a final sigma': ['\u03c3', '\u03c2'],
  'a zero-width character beside the name without it': ['out', 'o\u200but'],
  'a file that is a folder, too': ['top', 'top/out'],
  'a folder that is a file, too': ['top/out', 'top'],
  'a file that is a folder in another case': ['top/Out', 'top/out/more'],
  'a part of more than 255 bytes': [`top/${'x'.repeat(256)}`],
  'a part of more than 255 bytes in UTF-8': [`${'\u00e9'.repeat(128)}/out`],
  'a path of more than 4096 bytes': [`${'a/'.repeat(2048)}a`]
}

/** Characters that show nothing, or only a space. */
const BLANKS = '\t\u0085\u00a0\u00ad\u1680\u180e\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a' +
  '\u200b\u2028\u2029\u202f\u205f\u2060\u2800\u3000\u3164\ufeff'
for (const blank of BLANKS) {
  const code = blank.charCodeAt(0).toString(16).padStart(4, '0')
  TRICKS[`the blank U+${code} at the end`] = [`top/out${blank}`]
}

/** Names that only Windows refuses. */
export const NOT_IN_WINDOWS = [
  ['12:30'], ['file.txt:stream'], ['out::$DATA'], ['what?'], ['a*b'], ['"quoted"'], ['a|b'], ['<a>'], ['line\nfeed'],
  ['escape\x1b[2J']
]

/** Names that look odd but are harmless. */
export const HARMLESS = [
  ['a/b', 'a/c', 'a.txt', 'A b/..c'], ['..a', '...b', 'a..b', '.hidden', '-rf', '~', '$HOME', '%PATH%', 'a b', ' a'],
  ['nul1', 'console', 'com', 'com10', 'auxiliary.txt', 'lptx'], ['i\u0307', '\u00fc', '\u4e2d\u6587', '\u{1f600}'],
  ['x'.repeat(255), `top/${'\u00e9'.repeat(127)}`, `${'a/'.repeat(1000)}a`],
  ['a\u3000b', '\u3000a', '9.41\u202fAM.png', 'a\u00a0c'], ['to be continued\u2026', 'A\uff1a b', 'why\uff1f'],
  ['\u2764\ufe0f', '\u{1f468}\u200d\u{1f469}', '\u{1f3f4}\u{e0067}\u{e0062}\u{e007f}'], // emoji
  ['\u0d28\u0d4d\u200d', '\u0645\u06cc\u200c\u062e', '\u05d0\u200f!'], // Malayalam, Persian, Hebrew
  ['x\u00b2', 'x2', '\uff41', 'a'],
  ['constructor', '__proto__', 'toString/valueOf'], ['a', 'b/a', 'c/a/a']
]
