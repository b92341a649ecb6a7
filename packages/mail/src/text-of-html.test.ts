import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { textOfHtml } from './text-of-html.ts'

describe('the text of HTML', () => {
  it('is what a reader sees, in lines and paragraphs', () => {
    const html = `<!doctype html><html><head><title>Not read</title><style>p { color: red }</style></head>
      <body><!-- nor this --><!--[if mso]><p>nor this</p><![endif]-->
      <h1>Hello,
          <b>Ada</b>!</h1><div>One</div><div>Two<br>Three</div>
      <table><tr><td>Tea</td><td>4.50&nbsp;&euro;</td></tr><tr><td>Milk</td><td>1.20&nbsp;&euro;</td></tr></table>
      <p>Bye<script>document.write('<p>no</p>')</script>.</p></body></html>`
    expect(textOfHtml(html)).toBe('Hello, Ada!\n\nOne\nTwo\nThree\nTea 4.50 €\nMilk 1.20 €\n\nBye.')
  })

  it.each([
    [
      'a link with where it leads',
      '<a href="https://x.example/?a=1&amp;b=2">Order</a>.',
      'Order <https://x.example/?a=1&b=2>.',
    ],
    [
      'a link that says where it leads, once',
      '<a href="https://x.example/">x.example</a>',
      'x.example',
    ],
    [
      'an address that is its own link, once',
      '<a href="mailto:a@x.example">A@x.example</a>',
      'A@x.example',
    ],
    [
      'no link that leads nowhere',
      '<a href="#top">up</a> <a href="javascript:x()">do</a> <a name="n">n</a>',
      'up do n',
    ],
    [
      'a link with blanks as it is followed',
      '<a href=" https://x.example/a b\n/c">x</a>',
      'x <https://x.example/a%20b/c>',
    ],
    ['no link that would break its brackets', '<a href="https://x.example/a b>c">x</a>', 'x'],
    [
      'a link that ends where the next begins',
      '<a href="https://a.example">a<a href="https://b.example">b</a>',
      'a <https://a.example>b <https://b.example>',
    ],
    [
      'a picture as its description',
      'A<img src="x.png" alt="Logo &amp; name">B<img src="y.png">C',
      'A Logo & name B C',
    ],
    [
      'a picture that is a link',
      '<a href="https://x.example"><img alt="Shop"></a>',
      'Shop <https://x.example>',
    ],
    [
      'lists',
      '<ul><li>a<ol><li>b</li><li>c</li></ol></li><li></li><li><p>d</p></li></ul>e',
      '- a\n  1. b\n  2. c\n\n- d\n\ne',
    ],
    ['a rule', 'a<hr>b', 'a\n---\nb'],
    ['preformatted text as it is', '<pre>  a\n    b  \n\nc</pre>d', '  a\n    b\n\nc\n\nd'],
    ['entities', '&lt;b&gt; &amp; &#128512; &copy; &unknown; &', '<b> & 😀 © &unknown; &'],
    ['characters as they are', 'Grüße 👩‍👩‍👧 شكرا', 'Grüße 👩‍👩‍👧 شكرا'],
    [
      'no padding of previews',
      'Preview&zwnj;&nbsp;&zwnj;&nbsp;&#847; &#8203;&shy;text',
      'Preview text',
    ],
    ['no more than one empty line', 'a<br><br><br><br><p></p><p>b</p>', 'a\n\nb'],
    ['the body after a head that is not closed', '<head><title>t</title><body>a', 'a'],
    ['nothing for pictures alone', '<p><img src="x.png"></p>', ''],
    ['what a tag that is not one says', 'a < b and 3 <4', 'a < b and 3 <4'],
  ])('shows %s', (_what, html, text) => {
    expect(textOfHtml(html)).toBe(text)
  })

  it('is empty where the HTML is too long', () => {
    expect(textOfHtml('x'.repeat(256 * 1024))).not.toBe('')
    expect(textOfHtml('x'.repeat(256 * 1024 + 1))).toBe('')
  })

  const size = 256 * 1024
  it.each([
    '<',
    '&',
    '&a',
    '&lt;',
    '<a>',
    '<a href="https://a.example">',
    '<a href="',
    '<!--',
    '<!',
    '<script>',
    '<svg>',
    '<ol><li>',
    '<ul><li>x',
    '</p',
    '<br>',
    '<pre>\n',
    'x ',
    ' ',
    'a\u00a0 ',
    '\u200c',
    '<td>',
  ])('takes time in proportion to the HTML: %j without end', (piece) => {
    const text = textOfHtml(piece.repeat(Math.floor(size / piece.length)))
    expect(text.length).toBeLessThanOrEqual(12 * size)
  })

  it('is tidy for any input: no tags, no space around lines', () => {
    const piece = fc.constantFrom(
      '<p>',
      '</p>',
      '<li>',
      '<ul>',
      '</ul>',
      '<ol>',
      '</ol>',
      '<br>',
      '<a href="https://x.example/1">',
      '</a>',
      '<td>',
      '<hr>',
      '<style>',
      '</style>',
      '<svg>',
      '</svg>',
      '<!--',
      '-->',
      '&nbsp;',
      '&amp;',
      ' ',
      '\n',
      'word',
      '"',
      "'",
      '<img alt="i">',
    )
    const html = fc.array(fc.oneof(piece, fc.string({ maxLength: 6 }))).map((p) => p.join(''))
    fc.assert(
      fc.property(html, (given) => {
        const text = textOfHtml(given)
        if (text === '') return true
        const lines = text.split('\n')
        return (
          !text.includes('\n\n\n') &&
          lines[0] !== '' &&
          lines.at(-1) !== '' &&
          lines.every((line) => line === line.trimEnd())
        )
      }),
      { numRuns: 2_000 },
    )
  })
})
