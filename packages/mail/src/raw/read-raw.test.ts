/** What is read out of a message that a program hands in, and which messages are refused. */
import { describe, expect, it } from 'vitest'
import { type RawMessage, readRaw } from './read-raw.ts'

const OPTIONS = {
  controlPrefix: 'x-postrider-',
  textBytesMax: 1_000,
  textCharsMax: 800,
  date: new Date('2026-11-28T12:00:00Z'),
}
const DATE = 'Date: Sat, 28 Nov 2026 11:00:00 +0000'
const FROM = 'From: Ada <ada@example.com>'
const message = (...lines: readonly string[]) => `${lines.join('\r\n')}\r\n`

function readingOf(text: string) {
  return readRaw(Buffer.from(text, 'latin1'), OPTIONS)
}

function read(text: string): RawMessage {
  const reading = readingOf(text)
  if (reading.kind === 'refused') throw new Error(reading.problem)
  return reading.message
}

const fromOf = (value: string) => {
  const reading = readingOf(message(`From: ${value}`, '', 'x'))
  return reading.kind === 'refused' ? reading.problem : reading.message.from.address
}

describe('the author', () => {
  it.each([
    ['a@x.example', 'a@x.example'],
    ['<a@x.example>', 'a@x.example'],
    ['Ada <a@X.example>', 'a@x.example'],
    ['Acme, Inc. <a@x.example>', 'a@x.example'],
    ['Company: News <a@x.example>', 'a@x.example'],
    ['b@y.example <a@x.example>', 'a@x.example'],
    ['"Ada <b@y.example>" <a@x.example> (b@y.example)', 'a@x.example'],
    ['"A\\" <b@y.example>" <a@x.example>', 'a@x.example'],
    ['=?utf-8?q?Ad=C3=A4?= <a@x.example>', 'a@x.example'],
    ['a@\xfcber.example', 'a@xn--ber-goa.example'],
  ])('of %s is %s', (value, expected) => {
    expect(fromOf(value)).toBe(expected)
  })

  it.each([
    '<a@x.example> <b@y.example>',
    'Ada <a@x.example> b@y.example',
    'a@x.example b@y.example',
    '=?utf-8?q?<b@y.example>?= <a@x.example>',
    '<a@x.example',
    '<<a@x.example>>',
    '<@y.example:a@x.example>',
    'Ada <a @x.example>',
    'Ada <a@x.example(c)>',
    'Ada "b <b@y.example> <a@x.example>',
    'a@x.example:b@y.example',
    'group: a@x.example;',
    '<a@x.example>, group:;',
    `${'A '.repeat(2_000)}<a@x.example>`,
  ])('may be another to somebody else, and is refused: %s', (value) => {
    expect(fromOf(value)).toContain('From that is not of the form Name <address>')
  })
})

it('keeps the beginnings of pages, all of them together a bounded part of it', () => {
  const page = '--b\r\nContent-Type: image/svg+xml\r\n\r\n'
  const pages = Array.from({ length: 8 }, () => `${page}${'x'.repeat(1024 * 1024)}\r\n`).join('')
  const whole = `${FROM}\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n${pages}--b--\r\n`
  const { attachments } = read(whole)
  expect(attachments.map(({ content }) => Buffer.from(content, 'base64').length)).toEqual(
    Array(8).fill(512 * 1024),
  )
})

it('refuses more text than an email may have', () => {
  const refused = readingOf(message(FROM, '', 'x'.repeat(900)))
  expect(refused).toMatchObject({ kind: 'refused', isTooLarge: true })
  expect(refused).toHaveProperty('problem', expect.stringContaining('800 characters'))
})

describe('a message', () => {
  it('has a bounded number of addresses', () => {
    const to = (count: number) =>
      readingOf(message(FROM, `To: ${'a@b.cd, '.repeat(count)}`, '', 'x'))
    expect(to(3_000).kind).toBe('read')
    expect(to(3_001)).toMatchObject({
      problem: 'has more than 3000 addresses in the header field to',
    })
  })

  it('stays as it is, byte for byte', () => {
    const text = message(
      FROM,
      DATE,
      'X-Odd:\tas  it is',
      '\tfolded ',
      '',
      'Gr\xfc\xdfe',
      '.',
      'From here',
    )
    expect(read(text).message.toString('latin1')).toBe(text)
  })

  it('loses Resent-Bcc, as it loses Bcc, and no other field that was sent on', () => {
    const sentOn = ['Resent-From: x@example.com', 'Resent-To: y@example.com']
    const { message: kept, headers } = read(
      message(FROM, ...sentOn, 'resent-BCC: hidden@example.com,', '\tz@example.com', DATE, ''),
    )
    expect(kept.toString()).toBe(message(FROM, ...sentOn, DATE, ''))
    expect(JSON.stringify(headers)).not.toContain('hidden')
  })

  it('loses Bcc and control fields, with their folded lines, wherever they stand', () => {
    const text = message(
      'bcc: a@example.com,',
      ' b@example.com',
      FROM,
      'X-POSTRIDER-Args: {"a":',
      '\t1}',
      DATE,
      'X-Postrider-Nothing:',
      'Bcc: c@example.com',
      '',
      'Bcc: body@example.com',
    )
    const { message: kept, controls } = read(text)
    expect(kept.toString()).toBe(message(FROM, DATE, '', 'Bcc: body@example.com'))
    expect(controls).toEqual({ 'x-postrider-args': '{"a":\t1}', 'x-postrider-nothing': '' })
  })

  it('gets a date where it has none, and the line that ends a header alone', () => {
    const { message: whole } = read(message(FROM))
    expect(whole.toString()).toBe(message('Date: Sat, 28 Nov 2026 12:00:00 +0000', FROM, ''))
  })

  it('says whom it is from and shown to, with decoded names', () => {
    const { from, to, cc, replyTo, subject, messageId } = read(
      message(
        'From: =?utf-8?q?Gr=C3=BC=C3=9Fe?= <ada@example.com>',
        'To: "Bob, the other" <bob@example.com>, team: cy@example.com;',
        'Cc: di@example.com',
        'Reply-To: help@example.com',
        'Subject: =?iso-8859-1?q?Gr=FC=DFe?=',
        'Message-ID: <1@example.com>',
        '',
      ),
    )
    expect(from).toEqual({ address: 'ada@example.com', name: 'Grüße' })
    expect(to.map(({ address }) => address)).toEqual(['bob@example.com', 'cy@example.com'])
    expect(cc).toEqual([{ address: 'di@example.com' }])
    expect(replyTo).toEqual({ address: 'help@example.com' })
    expect(subject).toBe('Grüße')
    expect(messageId).toBe('<1@example.com>')
  })

  it('has its texts decoded, the places of single ones, and its files', () => {
    const text = message(
      FROM,
      DATE,
      'Content-Type: multipart/mixed; boundary=b',
      '',
      '--b',
      'Content-Type: text/html; charset=iso-8859-1',
      'Content-Transfer-Encoding: quoted-printable',
      '',
      '<p>Gr=FC=DFe</p>',
      '--b',
      'Content-Type: text/html; name=page.html',
      'Content-Disposition: attachment; filename=page.html',
      '',
      '<p>File</p>',
      '--b',
      'Content-Type: application/pdf; name=a.pdf',
      'Content-ID: <one@a>',
      'Content-Transfer-Encoding: base64',
      '',
      'YWJj',
      '--b--',
    )
    const { message: raw, html, htmlPlace, text: plain, attachments } = read(text)
    expect(html).toBe('<p>Grüße</p>')
    expect(plain).toBeUndefined()
    expect(raw.toString('latin1', htmlPlace?.bodyAt, htmlPlace?.bodyEnd)).toBe('<p>Gr=FC=DFe</p>')
    expect(raw.toString('latin1', htmlPlace?.headerAt, htmlPlace?.bodyAt)).toMatch(
      /^Content-Type: text\/html; charset.*\r\n\r\n$/s,
    )
    expect(attachments).toMatchObject([
      { filename: 'page.html', content: Buffer.from('<p>File</p>').toString('base64') },
      { filename: 'a.pdf', type: 'application/pdf', size: 3, contentId: 'one@a', content: '' },
    ])
  })

  it.each([
    ['multipart/signed; boundary=b', true],
    ['multipart/encrypted; boundary=b', true],
    ['application/pkcs7-mime; smime-type=enveloped-data', true],
    ['multipart/mixed; boundary=b', false],
  ])('of the type %s is sealed: %s', (type, isSealed) => {
    const text = message(FROM, `Content-Type: ${type}`, '', '--b', '', 'x', '--b--')
    expect(read(text).isSealed).toBe(isSealed)
  })

  it('is sealed within a multipart, by a PGP text, and by a signature of its domain', () => {
    const inner = message(
      FROM,
      'Content-Type: multipart/mixed; boundary=b',
      '',
      '--b',
      'Content-Type: multipart/signed; boundary=c',
      '',
      '--c',
      '',
      'x',
      '--c--',
      '--b--',
    )
    expect(read(inner).isSealed).toBe(true)
    expect(read(message(FROM, '', '-----BEGIN PGP SIGNED MESSAGE-----')).isSealed).toBe(true)
    expect(read(message(FROM, 'DKIM-Signature: v=1', '', 'x')).isSealed).toBe(true)
  })

  it('has one digest, whatever its date, id and boundary', () => {
    const made = (boundary: string, id: string, text: string) =>
      read(
        message(
          FROM,
          `Message-ID: <${id}@a.example>`,
          `Content-Type: multipart/mixed; boundary=${boundary}`,
          '',
          `--${boundary}`,
          '',
          text,
          `--${boundary}--`,
        ),
      ).digest
    expect(made('b', '1', 'Hello')).toBe(made('c', '2', 'Hello'))
    expect(made('b', '1', 'Hello')).not.toBe(made('b', '1', 'Goodbye'))
  })
})

type Case = readonly [what: string, text: string, problem: RegExp]

describe('a message is refused', () => {
  it.each<Case>([
    ['with a bare LF', `${FROM}\n\r\nx`, /bare LF/],
    ['with a bare CR', `${FROM}\r\n\r\nx\ry\r\n`, /bare CR/],
    ['with a CR at its end', `${FROM}\r\n\r\nx\r`, /bare CR/],
    ['with a NUL', message(FROM, '', '\0'), /NUL/],
    ['with a byte order mark', `\xef\xbb\xbf${message(FROM, '')}`, /byte order mark/],
    ['with a folded name', message(FROM, 'X-A', ' : b', ''), /no field: "X-A"/],
    ['with a blank before the colon', message('From : a@example.com', ''), /no field/],
    ['that begins with a folded line', message(' x', FROM, ''), /no field/],
    ['with a line of a mailbox file', message('From ada Sat Nov 28', FROM, ''), /no field/],
    ['without From', message('To: a@example.com', ''), /no address/],
    ['with a From without an address', message('From: Ada', ''), /no address/],
    ['with two authors', message('From: a@example.com, b@example.com', ''), /several authors/],
    ['with a group of authors', message('From: us: a@example.com, b@example.com;', ''), /several/],
    ...['From', 'To', 'Cc', 'Subject', 'Content-Type', 'Message-ID'].map(
      (name): Case => [
        `with ${name} twice`,
        message(FROM, `${name}: a`, `${name.toLowerCase()}: b`, ''),
        /twice/,
      ],
    ),
    [
      'with a control field twice',
      message(FROM, 'X-Postrider-A: 1', 'x-postrider-a: 2', ''),
      /twice/,
    ],
    [
      'with a long Message-ID',
      message(FROM, `Message-ID: <${'x'.repeat(200_000)}@a>`, ''),
      /Message-ID/,
    ],
    ['with two ids in Message-ID', message(FROM, 'Message-ID: <a@b> <c@d>', ''), /Message-ID/],
    ['with a huge header', message(FROM, `X: ${'x'.repeat(600_000)}`, ''), /bytes/],
    [
      'with a huge To',
      message(FROM, `To: ${'a@b.example, '.repeat(8_000)}c@d.example`, ''),
      /to of/,
    ],
    ['with many fields', message(FROM, ...Array<string>(2_001).fill('X: y'), ''), /fields/],
    ['with too much text', message(FROM, '', 'x'.repeat(1_001)), /bytes of text/],
  ])('%s', (_what, text, expected) => {
    const reading = readingOf(text)
    expect(reading.kind === 'refused' ? reading.problem : '').toMatch(expected)
  })
})
