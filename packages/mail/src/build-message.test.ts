import fc from 'fast-check'
import PostalMime, { type Email } from 'postal-mime'
import { describe, expect, it } from 'vitest'
import { composeMessage, type MessageInput, prepareMessage } from './build-message.ts'
import { createPlaceholders } from './placeholders.ts'

const DATE = new Date('2026-11-20T13:01:02Z')

const MESSAGE_ID = '<01JD4Y.0@mail.example.com>'
const base: MessageInput = {
  id: '01JD4Y',
  date: DATE,
  from: { address: 'shop@example.com', name: 'The Shop' },
  to: [{ address: 'ann@receiver.test', name: 'Ann' }],
  subject: 'Your order',
  text: 'Thank you.\n',
}

async function buildMessage(input: MessageInput, messageId = MESSAGE_ID): Promise<Buffer> {
  return composeMessage(await prepareMessage(input), messageId)
}

async function build(input: Partial<MessageInput>): Promise<{ raw: string; email: Email }> {
  const bytes = await buildMessage({ ...base, ...input })
  return { raw: bytes.toString('latin1'), email: await PostalMime.parse(bytes) }
}

function headerOf(raw: string, name: string): string[] {
  const head = raw.slice(0, raw.indexOf('\r\n\r\n')).replace(/\r\n[ \t]/g, ' ')
  const prefix = `${name.toLowerCase()}: `
  return head
    .split('\r\n')
    .filter((line) => line.toLowerCase().startsWith(prefix))
    .map((line) => line.slice(prefix.length))
}

/** What every message must be, whatever went into it. */
function expectSound(bytes: Buffer): void {
  const raw = bytes.toString('latin1')
  expect(raw.endsWith('\r\n')).toBe(true)
  expect(/(^|[^\r])\n|\r(?!\n)/.test(raw)).toBe(false)
  expect(raw.includes('\u0000')).toBe(false)
  expect(raw.split('\r\n').find((line) => line.length > 998)).toBeUndefined()
  expect(/[\u0080-\u00ff]/.test(raw)).toBe(false)
}

describe('headers', () => {
  it('name sender, visible recipients, subject, id and date as given', async () => {
    const { raw, email } = await build({
      to: [{ address: 'ann@receiver.test', name: 'Ann' }, { address: 'bob@receiver.test' }],
      cc: [{ address: 'cy@receiver.test', name: 'Cy, the third "x"' }],
      replyTo: { address: 'help@example.com' },
    })
    expect(email.from).toEqual({ address: 'shop@example.com', name: 'The Shop' })
    expect(email.to?.map((one) => one.address)).toEqual(['ann@receiver.test', 'bob@receiver.test'])
    expect(email.cc).toEqual([{ address: 'cy@receiver.test', name: 'Cy, the third "x"' }])
    expect(email.replyTo?.[0]?.address).toBe('help@example.com')
    expect(email.subject).toBe('Your order')
    expect(headerOf(raw, 'message-id')).toEqual([MESSAGE_ID])
    expect(headerOf(raw, 'date')).toEqual(['Fri, 20 Nov 2026 13:01:02 +0000'])
    expect(headerOf(raw, 'mime-version')).toEqual(['1.0'])
    expect(headerOf(raw, 'bcc')).toEqual([])
  })

  it.each([
    ['emoji', 'Order 🎉 shipped 👩‍👩‍👧 today'],
    ['right to left', 'تم شحن طلبك اليوم'],
    ['CJK, long', '注文'.repeat(120)],
    ['what looks like an encoded word', '=?utf-8?Q?x?= and =? more'],
    ['a word that cannot be folded', 'x'.repeat(3_000)],
    ['an address', 'From: evil@example.com'],
  ])('carry a subject of %s', async (_what, subject) => {
    const { raw, email } = await build({ subject })
    expectSound(Buffer.from(raw, 'latin1'))
    expect(email.subject).toBe(subject)
  })

  it('carry custom headers in order, and repeated ones', async () => {
    const { raw } = await build({
      headers: [
        ['X-Campaign', 'spring'],
        ['List-Unsubscribe', '<https://example.com/u?t=1>, <mailto:u@example.com>'],
        ['x-campaign', 'again'],
        ['X-Name', 'Zoë Ünder'],
      ],
    })
    expect(headerOf(raw, 'x-campaign')).toEqual(['spring', 'again'])
    expect(headerOf(raw, 'list-unsubscribe')).toEqual([
      '<https://example.com/u?t=1>, <mailto:u@example.com>',
    ])
    expect(headerOf(raw, 'x-name')[0]).toMatch(/^=\?UTF-8\?/i)
  })

  it.each([
    ['X-SMTPAPI', '{"category":"spring","unique_args":{"a":"b"}}'],
    ['In-Reply-To', '<"odd id"@example.com>'],
    ['References', `<${'a'.repeat(60)}@example.com> <${'b'.repeat(60)}@example.com>`],
    ['x-lower-CASE', 'a; b="c d"'],
  ])('keep a custom header of plain characters as it was given: %s', async (name, value) => {
    const { raw } = await build({ headers: [[name, value]] })
    expect(raw).toContain(`\r\n${name}:`)
    expect(headerOf(raw, name)).toEqual([value])
  })

  it.each(['=?utf-8?Q?a?B?=', '=??q?a?=', '=?utf-8?Q? a b?=', 'x=?utf-8?Q?a?=y'])(
    'encode text that lenient readers take for an encoded word: %s',
    async (subject) => {
      const { raw, email } = await build({ subject })
      expect(raw).not.toContain(subject)
      expect(email.subject).toBe(subject)
    },
  )

  it('encode a name that would be read as an encoded word', async () => {
    const name = '=?utf-8?Q?Bank?= of Example'
    const { raw, email } = await build({ from: { address: 'shop@example.com', name } })
    expect(raw).not.toContain(name)
    expect(email.from?.address).toBe('shop@example.com')
  })

  it('let no value break out of its header', async () => {
    const evil = 'x\r\nBcc: evil@example.com\r\n\r\nbody'
    const { raw } = await build({
      subject: evil,
      from: { address: 'shop@example.com', name: evil },
      headers: [['X-A', evil]],
      attachments: [{ filename: evil, content: 'QQ==', type: evil, contentId: evil }],
    })
    expect(headerOf(raw, 'bcc')).toEqual([])
    expect(raw).not.toMatch(/^bcc:/im)
  })
})

describe('the body of a message', () => {
  it('is the plain text alone', async () => {
    const { raw, email } = await build({ text: 'Hällo\nWörld' })
    expect(headerOf(raw, 'content-type')[0]).toMatch(/^text\/plain; charset=utf-8/)
    expect(email.text).toBe('Hällo\nWörld\n')
    expect(email.html).toBeUndefined()
  })

  it('has no text derived from HTML', async () => {
    const { raw } = await build({ text: undefined, html: '<p>Hi</p>' })
    expect(raw).toContain('Content-Type: text/html; charset=utf-8')
    expect(raw).not.toContain('text/plain')
  })

  it('has text before HTML in an alternative', async () => {
    const { raw, email } = await build({ text: 'plain', html: '<p>rich ✓</p>' })
    expect(headerOf(raw, 'content-type')[0]).toMatch(/^multipart\/alternative/)
    expect(raw.indexOf('text/plain')).toBeLessThan(raw.indexOf('text/html'))
    expect(email.html).toContain('<p>rich ✓</p>')
    expect(email.text?.trim()).toBe('plain')
  })

  it.each([
    ['7bit', 'Plain words,\nin short lines.'],
    ['7bit', `${'x'.repeat(76)}\n`],
    ['quoted-printable', `${'x'.repeat(77)}\n`],
    ['quoted-printable', 'Grüße aus dem Süden'],
    ['quoted-printable', 'a bell: \u0007'],
    ['base64', '日本語のメールです。'],
  ])('is sent in %s where that suits it: %j', async (encoding, text) => {
    const { raw, email } = await build({ text })
    expect(headerOf(raw, 'content-transfer-encoding')).toEqual([encoding])
    expect(email.text?.trimEnd()).toBe(text.trimEnd())
  })

  it('refuses NUL and lone surrogates', async () => {
    await expect(build({ text: 'a\u0000b' })).rejects.toThrow('NUL')
    await expect(build({ html: '\ud800' })).rejects.toThrow('Unicode')
  })

  it('may be empty', async () => {
    const { email } = await build({ text: '' })
    expect(email.text?.trim()).toBe('')
  })
})

describe('attachments', () => {
  const png = Buffer.from('89504e470d0a1a0a', 'hex').toString('base64')

  it('have the given names, types and bytes', async () => {
    const bytes = Buffer.alloc(5_000, 7)
    const { raw, email } = await build({
      html: '<p>see</p>',
      attachments: [
        { filename: 'rép 2"x\\.pdf', content: bytes.toString('base64'), type: 'application/pdf' },
        { filename: 'notes.txt', content: Buffer.from('hé\n').toString('base64') },
      ],
    })
    expect(headerOf(raw, 'content-type')[0]).toMatch(/^multipart\/mixed/)
    const [pdf, notes] = email.attachments
    expect(pdf).toMatchObject({ filename: 'rép 2"x\\.pdf', mimeType: 'application/pdf' })
    expect(Buffer.from(pdf?.content as ArrayBuffer)).toEqual(bytes)
    expect(notes).toMatchObject({ filename: 'notes.txt', mimeType: 'text/plain' })
    expect(email.html).toContain('<p>see</p>')
  })

  it('relate inline images to the HTML that shows them', async () => {
    const { raw, email } = await build({
      html: '<img src="cid:logo">',
      attachments: [
        { filename: 'logo.png', content: png, disposition: 'inline', contentId: 'logo' },
        { filename: 'terms.pdf', content: 'QUJD' },
      ],
    })
    expect(raw.match(/multipart\/(\w+)/g)).toEqual([
      'multipart/mixed',
      'multipart/alternative',
      'multipart/related',
    ])
    const logo = email.attachments.find((one) => one.filename === 'logo.png')
    expect(logo).toMatchObject({ contentId: '<logo>', disposition: 'inline', related: true })
    expect(email.attachments).toHaveLength(2)
  })

  it.each([
    ['the HTML shows it', '<img src="cid:logo">', {}, 'inline'],
    ['the HTML does not show it', '<p>no picture</p>', {}, 'attachment'],
    [
      'it is said to be attached',
      '<img src="cid:logo">',
      { disposition: 'attachment' },
      'attachment',
    ],
    ['there is no HTML', undefined, {}, 'attachment'],
  ] as const)(
    'attachments without a disposition are placed by their use: %s',
    async (_, html, change, expected) => {
      const file = { filename: 'logo.png', content: png, contentId: 'logo', ...change }
      const { raw, email } = await build({ html, attachments: [file] })
      expect(email.attachments).toMatchObject([{ contentId: '<logo>', disposition: expected }])
      expect(raw.includes('multipart/related')).toBe(expected === 'inline')
    },
  )

  it.each([
    'résumé – final.pdf',
    'عقد الإيجار.docx',
    '请求书（2026年）.xlsx',
    'Договор №7.txt',
    'חוזה.pdf',
    '🎉👩‍👩‍👧.png',
    `${'あ'.repeat(250)}.txt`,
    `${'x'.repeat(250)}.txt`,
    'a "quoted"; name=\\x.txt',
    "percent%20'apostrophe'*.txt",
    ' .hidden. ',
  ])('keep their name: %s', async (filename) => {
    const { raw, email } = await build({ attachments: [{ filename, content: png }] })
    expectSound(Buffer.from(raw, 'latin1'))
    expect(email.attachments.map((one) => one.filename?.trim())).toEqual([filename.trim()])
  })

  it.each([
    '=?utf-8?Q?fake?=',
    '=?utf-8?Q?fake name?=.txt',
    '=?utf-8*en?B?ZmFrZQ==?= and =?iso-8859-1?q?=66?= and more of it',
  ])('have a name encoded that would be read as an encoded word: %s', async (filename) => {
    const { raw } = await build({ attachments: [{ filename, content: png }] })
    expect(raw.replaceAll(/\r\n(?=\s)/g, '')).not.toContain(filename.split(' and ')[0])
    // RFC 2231 §3, §4.
    const parts = raw.matchAll(/\sfilename\*\d+\*?=("?)([^";\r\n]*)\1/g)
    const text = [...parts].map(([, , part]) => part).join('')
    expect(decodeURIComponent(text.replace("utf-8''", ''))).toBe(filename)
  })

  it('take their media type from their name', async () => {
    const names = ['a.pdf', 'b.PNG', 'c.docx', 'd.ics', 'e.unknown', 'README', 'g.eml', 'h.mht']
    const { email } = await build({
      attachments: names.map((filename) => ({ filename, content: png })),
    })
    expect(email.attachments.map((one) => one.mimeType)).toEqual([
      'application/pdf',
      'image/png',
      'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
      'text/calendar',
      ...Array(4).fill('application/octet-stream'),
    ])
  })

  it('are many, in the given order', async () => {
    const attachments = Array.from({ length: 50 }, (_, i) => ({
      filename: `${i}.bin`,
      content: Buffer.from([i]).toString('base64'),
    }))
    const { email } = await build({ attachments })
    expect(email.attachments.map((one) => one.filename)).toEqual(
      attachments.map((one) => one.filename),
    )
    const bytes = email.attachments.map((one) => new Uint8Array(one.content as ArrayBuffer)[0])
    expect(bytes).toEqual(attachments.map((_, i) => i))
  })

  it.each(['multipart/mixed; boundary=x', 'message/rfc822', 'not a type', 'text/html\r\nX: y'])(
    'attachments with the invalid type %j are sent as bytes',
    async (type) => {
      const { email } = await build({ attachments: [{ filename: 'a.bin', content: 'QUJD', type }] })
      expect(email.attachments[0]?.mimeType).toBe('application/octet-stream')
      expect(Buffer.from(email.attachments[0]?.content as ArrayBuffer).toString()).toBe('ABC')
    },
  )

  it('keep the parameters of a media type, except for a name', async () => {
    const type = 'text/calendar; method=REQUEST; name="other.ics"'
    const { raw, email } = await build({
      attachments: [{ filename: 'invite.ics', content: 'QUJD', type }],
    })
    expect(raw).toContain('text/calendar; method=REQUEST; name=invite.ics')
    expect(email.attachments[0]).toMatchObject({ filename: 'invite.ics', method: 'REQUEST' })
  })

  it('may have base64 without its padding', async () => {
    const { email } = await build({ attachments: [{ filename: 'a.bin', content: 'QQ' }] })
    expect(Buffer.from(email.attachments[0]?.content as ArrayBuffer).toString()).toBe('A')
  })
})

describe('the bytes of a message', () => {
  it('are the same for the same input', async () => {
    const input = { ...base, html: '<p>x</p>', attachments: [{ filename: 'a', content: 'QQ==' }] }
    expect(await buildMessage(input)).toEqual(await buildMessage(input))
  })

  it('are valid for any text, which can be read back', async () => {
    const unicode = fc.string({ unit: 'binary', maxLength: 400 }).filter((s) => !s.includes('\0'))
    const line = unicode.map((s) => s.replace(/[\p{Cc}\u2028\u2029]/gu, ''))
    await fc.assert(
      fc.asyncProperty(unicode, unicode, line, line, async (text, html, subject, name) => {
        const from = { address: 'a@example.com', name }
        const bytes = await buildMessage({ ...base, text, html, subject, from })
        expectSound(bytes)
        const email = await PostalMime.parse(bytes)
        const lines = (s: string) => s.replace(/\r\n?/g, '\n').replace(/\n+$/, '')
        expect(lines(email.text ?? '')).toBe(lines(text))
        expect(lines(email.html ?? '')).toBe(lines(html))
        expect(email.from?.address).toBe('a@example.com')
      }),
      { numRuns: 200 },
    )
  })

  it('have lines below the limit of 998 characters for any headers', async () => {
    const to = Array.from({ length: 1_000 }, (_, i) => ({
      address: `recipient-${i}@receiver.test`,
      name: `Reçipient number ${i}`,
    }))
    expectSound(await buildMessage({ ...base, to, headers: [['X-Long', 'y'.repeat(2_000)]] }))
  })
})

describe('the copies of one email', () => {
  const input = {
    ...base,
    html: '<p>x</p>',
    headers: [['X-Copy', 'of Message-ID: <message-id@postrider.invalid>']] as const,
    attachments: [{ filename: 'a', content: 'QQ==' }],
  }

  it('differ in their Message-ID only', async () => {
    const prepared = await prepareMessage(input)
    const [one, other] = await Promise.all(
      ['<a.0@example.com>', '<a.17@example.com>'].map((id) => composeMessage(prepared, id)),
    )
    const raw = one?.toString('latin1') ?? ''
    expect(headerOf(raw, 'message-id')).toEqual(['<a.0@example.com>'])
    expect(headerOf(raw, 'x-copy')).toEqual(['of Message-ID: <message-id@postrider.invalid>'])
    expect(other?.toString('latin1')).toBe(raw.replace('<a.0@example.com>', '<a.17@example.com>'))
  })

  it('have a Message-ID that is folded where it is long', async () => {
    const messageId = `<a.0@${'d'.repeat(60)}.${'e'.repeat(60)}.example.com>`
    const bytes = await buildMessage(base, messageId)
    expectSound(bytes)
    expect(headerOf(bytes.toString('latin1'), 'message-id').map((id) => id.trim())).toEqual([
      messageId,
    ])
  })
})

describe('the copies of an email with personal texts', () => {
  const placeholders = createPlaceholders(base.id, [60])
  const [placeholder = ''] = placeholders
  const texts = ['https://t.example.com/'.padEnd(60, 'a')]

  it.each([
    ['short', (own: string) => `${own}\n`],
    ['without a last line end', (own: string) => `a ${own}`],
    ['escaped', (own: string) => `Grüße = ${own}\n`],
    ['escaped, without a last line end', (own: string) => `Grüße ${own}`],
    ['in base64', (own: string) => `${'日本語のメールです。'.repeat(9)}${own}\n`],
  ])('equal copies that were built without placeholders: %s', async (_, text) => {
    const prepared = await prepareMessage({ ...base, text: text(placeholder), placeholders })
    const copy = await composeMessage(prepared, MESSAGE_ID, { texts })
    expectSound(copy)
    expect(copy.toString('latin1')).not.toMatch(/\r\n\r\n$/)
    const plain = await buildMessage({ ...base, text: text(texts[0] ?? '') })
    const [read, expected] = await Promise.all([copy, plain].map((raw) => PostalMime.parse(raw)))
    expect(read).toEqual(expected)
  })

  it('[RFC 8058] have the headers for one-click unsubscribing', async () => {
    const prepared = await prepareMessage(base)
    const unsubscribeUrl = `https://mail.example.com/t/u/${'a'.repeat(66)}`
    const copy = await composeMessage(prepared, MESSAGE_ID, { unsubscribeUrl })
    expectSound(copy)
    const raw = copy.toString('latin1')
    expect(headerOf(raw, 'list-unsubscribe').map((value) => value.trim())).toEqual([
      `<${unsubscribeUrl}>`,
    ])
    expect(headerOf(raw, 'list-unsubscribe-post')).toEqual(['List-Unsubscribe=One-Click'])
  })
})

describe('long content', () => {
  const long = 300 * 1024
  const fill = (unit: string) => unit.repeat(Math.ceil(long / unit.length)).slice(0, long - 1)

  it.each([
    ['of one line', `${fill('x')}.`],
    ['of words', `${fill('word, and ')}.`],
    ['of line ends of every kind', `${fill('a\r\nb\nc\r\r\nd \n\t\r\n')}.`],
    ['of line feeds', `${fill('\n')}.`],
    ['of spaces', `${fill(' ')}.`],
    [
      'with some characters to escape',
      `${fill('Grüße = 🎉, with many plain words around them. ')}.`,
    ],
    ['of characters to escape', `${fill('日本語=')}.`],
    ['of pairs', `.${'🎉'.repeat(long / 2)}`],
  ])('as a text %s can be read back, in valid lines', async (_, text) => {
    for (const part of [{ text }, { text, html: `<p>${text}` }]) {
      const input = { ...base, ...part }
      const bytes = await buildMessage(input)
      expectSound(bytes)
      expect(bytes.equals(await buildMessage(input))).toBe(true)
      const email = await PostalMime.parse(bytes)
      const lines = (s: string | undefined) => s?.replace(/\r\n?/g, '\n').replace(/\n$/, '')
      expect(lines(email.text) === lines(text)).toBe(true)
      if ('html' in part) expect(lines(email.html) === lines(part.html)).toBe(true)
    }
  })

  it('as an attachment can be read back, in lines of 76 characters', async () => {
    const content = Buffer.alloc(1024 * 1024 + 1, 'random').toString('base64')
    const { raw, email } = await build({ attachments: [{ filename: 'a.bin', content }] })
    const [sent] = email.attachments
    expect(Buffer.from(sent?.content as ArrayBuffer).toString('base64') === content).toBe(true)
    const encoded = raw.split('\r\n\r\n').at(-1)?.split('\r\n--')[0] ?? ''
    const widths = encoded.split('\r\n').map((line) => line.length)
    expect(new Set(widths.slice(0, -1))).toEqual(new Set([76]))
  })

  it.each([
    [
      'an attachment of 24 MiB',
      { attachments: [{ filename: 'a', content: 'QUJD'.repeat(2 ** 23) }] },
    ],
    ['a text of 5 MiB', { text: 'Grüße, '.repeat(700_000) }],
  ])('as %s lets the event loop run while it is encoded', async (_, change) => {
    let turns = 0
    let next: NodeJS.Immediate
    const turn = () => {
      turns += 1
      next = setImmediate(turn)
    }
    next = setImmediate(turn)
    const prepared = await prepareMessage({ ...base, ...change })
    const toPrepare = turns
    await composeMessage(prepared, MESSAGE_ID)
    clearImmediate(next)
    expect(toPrepare).toBeGreaterThan(50)
    expect(turns - toPrepare).toBeGreaterThan(3)
  })
})
