import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PARSE_LIMITS, parseHeadersOnly, parseMessage } from './parse-message.ts'
import type { ParsedMessage } from './parsed-message.ts'

const parse = (...lines: string[]) => parseMessage(Buffer.from(lines.join('\r\n')))
const bytesOf = (message: ParsedMessage) =>
  message.attachments.map(({ content }) => Buffer.from(content).toString())

describe('headers', () => {
  it('[contract 5] are given in order, unfolded, as written', () => {
    const { headers } = parse(
      'Received: from a.example',
      '\tby b.example;  today',
      'SUBJECT: =?utf-8?q?caf=C3=A9?=',
      'received : once more',
      'X-Empty:',
      'no header at all',
      'X-Last: 1',
      '',
      'X-Body: no',
    )
    expect(headers).toEqual([
      { name: 'Received', value: 'from a.example\tby b.example;  today' },
      { name: 'SUBJECT', value: '=?utf-8?q?caf=C3=A9?=' },
      { name: 'received', value: 'once more' },
      { name: 'X-Empty', value: '' },
      { name: 'X-Last', value: '1' },
    ])
  })

  it('name addresses, with groups resolved and names decoded', () => {
    const message = parse(
      'From: =?iso-8859-1?q?J=FCrgen?= <j@example.com>, second@example.com',
      'To: Team: a@example.com, "B, C" <b@example.com>;, d@example.com (D)',
      'To: e@example.com',
      'Cc: undisclosed-recipients:;',
      'Reply-To: Only A Name',
      '',
      '',
    )
    expect(message.from).toEqual({ email: 'j@example.com', name: 'Jürgen' })
    expect(message.to).toEqual([
      { email: 'a@example.com', name: '' },
      { email: 'b@example.com', name: 'B, C' },
      { email: 'd@example.com', name: 'D' },
      { email: 'e@example.com', name: '' },
    ])
    expect(message.cc).toEqual([])
    expect(message.replyTo).toEqual([{ email: '', name: 'Only A Name' }])
  })

  it.each(['boundary="b"', 'Boundary=b'])(
    'may have a boundary that is not indented: %s',
    (line) => {
      const body = ['', '--b', '', 'text', '--b--']
      const { text, headers } = parse('Content-Type: multipart/mixed;', line, 'X-A: 1', ...body)
      expect(text).toBe('text')
      expect(headers.map(({ name }) => name)).toEqual(['Content-Type', 'X-A'])
      // Where nothing is open it is no field, as ever.
      const other = parse('Subject: Hello', line, 'X-A: 1', '', '')
      expect(other.headers).toEqual([
        { name: 'Subject', value: 'Hello' },
        { name: 'X-A', value: '1' },
      ])
    },
  )

  it('headers that are missing are empty', () => {
    expect(parse('X-A: 1', '', 'b')).toEqual({
      messageId: '',
      inReplyTo: '',
      references: [],
      from: { email: '', name: '' },
      to: [],
      cc: [],
      replyTo: [],
      subject: '',
      text: 'b',
      html: '',
      headers: [{ name: 'X-A', value: '1' }],
      attachments: [],
      isAutoReply: false,
      reports: [],
    })
  })

  it('headers that are repeated count once, the first', () => {
    const message = parse(
      'Subject: one',
      'Subject: two',
      'Message-ID: <1@example.com>',
      'Message-ID: <2@example.com>',
      'Content-Type: text/html',
      'Content-Type: text/plain',
      '',
      '<p>',
    )
    expect(message).toMatchObject({ subject: 'one', messageId: '<1@example.com>', html: '<p>' })
    expect(message.headers).toHaveLength(6)
  })

  it('name messages, with any text between', () => {
    const message = parse(
      'In-Reply-To: Your message of today <2@example.com>',
      'References: <1@example.com><2@example.com>',
      ' (comment) <3@example.com>',
      'Message-ID: bare@example.com ',
      '',
      '',
    )
    expect(message.inReplyTo).toBe('<2@example.com>')
    expect(message.references).toEqual(['<1@example.com>', '<2@example.com>', '<3@example.com>'])
    expect(message.messageId).toBe('bare@example.com')
  })
})

describe('charsets', () => {
  const body = (charset: string, hex: string) =>
    parseMessage(
      Buffer.concat([
        Buffer.from(`Content-Type: text/plain; charset=${charset}\r\n\r\n`),
        Buffer.from(hex.replaceAll(' ', ''), 'hex'),
      ]),
    ).text

  it.each([
    ['iso-2022-jp', '1b2442 467c 4b5c 1b2842', '日本'],
    ['"ISO-2022-JP"', '1b2442 467c 4b5c 1b2842', '日本'],
    ['shift_jis', '93fa 967b', '日本'],
    ['CP932', '93fa 967b', '日本'],
    ['euc-kr', 'c7d1 b1b9', '한국'],
    ['gb18030', 'd6d0 b9fa 8130 8130', '中国\u0080'],
    ['big5', 'a4a4 b0ea', '中國'],
    ['koi8-r', 'cdc9d2', 'мир'],
    ['windows-1251', 'ece8f0', 'мир'],
    ['windows-1252', '93 80 94', '“€”'],
    ['iso-8859-15', 'a4', '€'],
    ['utf-16le', '6d00 6900', 'mi'],
    ['utf-7', '48692b4147452d', 'Hia'],
    ['us-ascii', 'c3a9', 'é'],
    ['unknown-8bit', 'e9', 'é'],
    ['no-such-thing', 'c3a9', 'é'],
    ['hz-gb-2312', '61', 'a'],
    ['""', 'c3a9', 'é'],
    ['utf-8', 'c3', '\ufffd'],
    ['utf-8', '61 00 62', 'a\ufffdb'],
  ])('are decoded: %s', (charset, hex, text) => {
    expect(body(charset, hex)).toBe(text)
  })

  it('charsets of HTML may be named in it', () => {
    const html = '<meta charset="koi8-r">'
    const raw = Buffer.concat([
      Buffer.from(`Content-Type: text/html\r\n\r\n${html}`),
      Buffer.from('cdc9d2', 'hex'),
    ])
    expect(parseMessage(raw).html).toBe(`${html}мир`)
  })

  it('charsets of headers may be raw UTF-8, or anything else', () => {
    const subject = (raw: Buffer) =>
      parseMessage(Buffer.concat([Buffer.from('Subject: '), raw, Buffer.from('\r\n\r\n')])).subject
    expect(subject(Buffer.from('мир'))).toBe('мир')
    expect(subject(Buffer.from([0xe9]))).toBe('é')
    expect(subject(Buffer.from('=?utf-8?B?w6k=?= =?utf-8?B?w6k=?=!'))).toBe('éé!')
  })
})

describe('parts', () => {
  const multipart = [
    'Content-Type: multipart/mixed; boundary="m"',
    '',
    'for old readers',
    '--m',
    'Content-Type: multipart/alternative; boundary=a',
    '',
    '--a',
    '',
    'plain',
    '--a  ',
    'Content-Type: text/html; charset=utf-8',
    'Content-Transfer-Encoding: quoted-printable',
    '',
    '<b>caf=C3=',
    '=A9</b>=20',
    '--a--',
    '--m',
    'Content-Type: image/PNG; name=x',
    'Content-ID: <pic@example.com>',
    "Content-Disposition: inline; filename*=utf-8''%E2%82%AC%20rates.png",
    'Content-Transfer-Encoding: BASE64',
    '',
    'SGVs',
    'bG8=',
    '--m',
    'Content-Type: message/rfc822',
    '',
    'Subject: inner',
    '',
    'inner body',
    '--m',
    'Content-Type: text/plain; name="=?utf-8?q?n=C3=B6tes?=.txt"',
    '',
    'notes',
    '--m--',
    'for nobody',
  ]

  it('become text, html and attachments', () => {
    const message = parse(...multipart)
    expect(message.text).toBe('plain')
    expect(message.html).toBe('<b>café</b> ')
    expect(message.problem).toBeUndefined()
    expect(message.attachments).toMatchObject([
      {
        filename: '€ rates.png',
        type: 'image/png',
        size: 5,
        contentId: 'pic@example.com',
        disposition: 'inline',
      },
      { filename: '', type: 'message/rfc822', contentId: null, disposition: 'attachment' },
      { filename: 'nötes.txt', type: 'text/plain' },
    ])
    expect(bytesOf(message)).toEqual(['Hello', 'Subject: inner\r\n\r\ninner body', 'notes'])
  })

  it.each(['\n', '\r', '\r\r\n'])('are found with any line ends: %j', (lineEnd) => {
    const message = parseMessage(Buffer.from(multipart.slice(0, 10).join(lineEnd)))
    expect(message.text.trim()).toBe('plain')
  })

  it('are found without the last delimiter', () => {
    const { text, html } = parse(...multipart.slice(0, 15))
    expect({ text, html }).toEqual({ text: 'plain', html: '<b>café</b> ' })
  })

  it('are found where the outer delimiter ends the inner part', () => {
    const cut = [...multipart.slice(0, 9), ...multipart.slice(16)]
    expect(parse(...cut).attachments).toHaveLength(3)
  })

  it('may end within their headers', () => {
    const message = parse(
      'Content-Type: multipart/mixed; boundary=b',
      '',
      '--b',
      'Content-Type: text/html',
      '--b',
      '',
      'two',
      '--b--',
    )
    expect(message).toMatchObject({ text: 'two', html: '' })
  })

  it('have names joined from pieces, with quoted text kept', () => {
    const names = (...parameters: string[]) =>
      parse(`Content-Type: a/b; ${parameters.join('; ')}`, '', '').attachments[0]?.filename
    expect(names('name*1*=%AC!', "name*0*=utf-8''%E2%82", 'name*2=" x"')).toBe('€! x')
    expect(names('name="a;b=\\"c\\""')).toBe('a;b="c"')
    expect(names('name=Invoice(1).pdf')).toBe('Invoice(1).pdf')
    expect(names('name="unclosed')).toBe('unclosed')
  })

  it('are attachments when they are calendars, TNEF or of unknown types', () => {
    const message = parse(
      'Content-Type: multipart/mixed; boundary=b',
      '',
      '--b',
      'Content-Type: text/calendar; method=REQUEST',
      '',
      'BEGIN:VCALENDAR',
      '--b',
      'Content-Type: application/ms-tnef; name=winmail.dat',
      '',
      'x',
      '--b--',
    )
    expect(message.attachments).toMatchObject([
      { type: 'text/calendar' },
      { type: 'application/ms-tnef', filename: 'winmail.dat' },
    ])
    expect(message.text).toBe('')
  })

  it('parts in base64 are decoded past invalid characters', () => {
    const decode = (text: string) =>
      bytesOf(parse('Content-Type: a/b', 'Content-Transfer-Encoding: base64', '', text))
    expect(decode('SGVs!bG8=')).toEqual(['Hello'])
    expect(decode('SGk=\r\nSGk=')).toEqual(['HiHi'])
    expect(decode('SGVsbG8')).toEqual(['Hello'])
    expect(decode('S')).toEqual([''])
  })

  it('parts in quoted-printable are decoded past invalid sequences', () => {
    const decode = (text: string) =>
      parse('Content-Transfer-Encoding: quoted-printable', '', text).text
    expect(decode('a=\r\nb=  \r\nc=\nd=')).toBe('abcd')
    expect(decode('1=1, =zz, =3D, =e')).toBe('1=1, =zz, =, =e')
  })
})

describe('broken messages', () => {
  it('broken messages without headers are all text', () => {
    expect(parse('Hello', '', 'there')).toMatchObject({ text: 'Hello\n\nthere', headers: [] })
    expect(parse('', 'Subject: a')).toMatchObject({ text: 'Subject: a', headers: [] })
    expect(parse('')).toMatchObject({ text: '', headers: [] })
  })

  it('broken messages without a body have their headers', () => {
    expect(parse('Subject: a')).toMatchObject({ subject: 'a', text: '' })
    expect(parse('From x@example.com today', 'Subject: a')).toMatchObject({ subject: 'a' })
    expect(parse('\ufeffSubject: a')).toMatchObject({ subject: 'a' })
  })

  it('broken messages without the announced parts are text', () => {
    const [b, none] = ['Content-Type: multipart/mixed; boundary=b', 'Content-Type: multipart/mixed']
    expect(parse(b, '', 'here', '--c', 'x').text).toBe('here\n--c\nx')
    expect(parse(none, '', 'here').attachments).toMatchObject([
      { type: 'multipart/mixed', size: 4 },
    ])
  })

  it('name what is missing of them', () => {
    const { depthMax, partsMax, headerBytesMax } = PARSE_LIMITS
    const nested = Array.from({ length: depthMax + 2 }, (_, i) => [
      `Content-Type: multipart/mixed; boundary=b${i}`,
      '',
      `--b${i}`,
    ])
    expect(parse(...nested.flat(), '', 'x')).toMatchObject({
      problem: 'Parts are nested too deeply',
      attachments: [{ type: 'multipart/mixed' }],
    })
    const parts = Array.from({ length: partsMax + 10 }, () => ['--b', 'Content-Type: a/b', '', 'x'])
    const many = parse('Content-Type: multipart/mixed; boundary=b', '', ...parts.flat())
    expect(many.problem).toBe('The message has too many parts')
    expect(many.attachments.length).toBe(partsMax - 1)
    const long = parse('Subject: a', `X-Long: ${'x'.repeat(headerBytesMax)}`, 'X-B: 1', '', 'body')
    expect(long).toMatchObject({
      problem: 'A header section is too long',
      subject: 'a',
      text: 'body',
    })
  })
})

const pieces = fc.constantFrom(
  ...[
    '\r\n',
    '\n',
    '\r',
    '\r\n\r\n',
    '--b',
    '--b--',
    '--c',
    '=',
    '"',
    ';',
    '*',
    '\0',
    '\ud800',
    ':',
  ],
  ...['Content-Type: multipart/mixed; boundary=b', 'Content-Type: multipart/digest; boundary="c"'],
  ...['Content-Transfer-Encoding: base64', 'Content-Type: text/html; charset=utf-7', '+AAA'],
  ...['From: ', 'To: a:b@c.test;', '=?utf-7?B?AA==?=', 'References: <a@b> <', ' name*0*=x%00'],
)
const messages = fc.oneof(
  fc.uint8Array({ maxLength: 2_000 }),
  fc
    .array(fc.oneof({ weight: 4, arbitrary: pieces }, fc.string({ unit: 'binary', maxLength: 20 })))
    .map((parts) => Buffer.from(parts.join(''))),
)

describe('any bytes as a message', () => {
  it('are parsed into a result that can be stored', () => {
    fc.assert(
      fc.property(messages, (raw) => {
        const message = parseMessage(raw)
        const json = JSON.stringify({
          ...message,
          attachments: message.attachments.map(withoutContent),
          reports: [],
        })
        expect(json.isWellFormed()).toBe(true)
        expect(json).not.toMatch(/\\u0000|\\ud[89a-f]/)
        const length = message.attachments.reduce((sum, { content }) => sum + content.length, 0)
        expect(length).toBeLessThanOrEqual(raw.length + 3)
        expect(parseHeadersOnly(raw, PARSE_LIMITS, 'why').headers).toEqual(message.headers)
      }),
      { numRuns: 1_000 },
    )
  })
})

function withoutContent({ content: _, ...rest }: ParsedMessage['attachments'][number]) {
  return rest
}
