import { contentBytesMax, customArgsBytesMax, type SendEmailBody } from '@postrider/contract'
import { composeMessage, prepareMessage } from '@postrider/mail'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ApiError } from '../../platform/errors.ts'
import type { NewEmail } from '../record/email.ts'
import { checkEmail } from './check-email.ts'
import { withoutLineEnds } from './without-line-ends.ts'

const defaults = { maxAttempts: 5, expiresInMs: 1_000 }

/** Text as hostile as JSON can carry it. */
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.constantFrom(
    '',
    'Hello',
    'Grüße 🎉',
    '\u0000',
    '\r\nBcc: evil@example.com',
    'a\nX-Evil: 1',
    '\ud800',
    '\u2028',
    '=?utf-8?Q?=0D=0ABcc:_evil@example.com?=',
    '"><script>',
    'word '.repeat(150),
    'x'.repeat(950),
  ),
)
const address = fc.oneof(
  text,
  fc.constantFrom(
    'ada@example.com',
    'ADA@EXAMPLE.COM',
    'jörg@bücher.example',
    'a@b',
    '"a b"@example.com',
    'a@example.com\r\nRCPT TO:<b@example.com>',
    '<a@example.com>',
    'a@example.com,b@example.com',
    'a@[127.0.0.1]',
  ),
  fc.emailAddress(),
)
const person = fc.record({ email: address, name: text }, { requiredKeys: ['email'] })
const header = fc.oneof(
  text,
  fc.constantFrom('X-A', 'x-a', 'Bcc', 'To', 'Content-Type', 'List-Unsubscribe', 'Références'),
)
const body: fc.Arbitrary<SendEmailBody> = fc.record(
  {
    from: person,
    to: fc.array(person, { minLength: 1, maxLength: 4 }),
    cc: fc.array(person, { maxLength: 3 }),
    bcc: fc.array(person, { maxLength: 3 }),
    subject: text,
    content: fc.array(
      fc.record({
        type: fc.constantFrom('text/html' as const, 'text/plain' as const),
        value: text,
      }),
      { minLength: 1, maxLength: 2 },
    ),
    replyTo: person,
    headers: fc.dictionary(header, text, { maxKeys: 4 }),
    attachments: fc.array(
      fc.record(
        {
          filename: text,
          content: fc.oneof(text, fc.base64String({ maxLength: 40 })),
          type: fc.oneof(text, fc.constantFrom('text/plain', 'multipart/mixed; boundary=x')),
          disposition: fc.constantFrom('attachment' as const, 'inline' as const),
          content_id: fc.oneof(text, fc.constant('logo')),
        },
        { requiredKeys: ['filename', 'content'] },
      ),
      { maxLength: 2 },
    ),
    custom_args: fc.dictionary(text, fc.jsonValue()),
    campaign_id: text,
    settings: fc.record({ expires_in: fc.oneof(text, fc.constant('6h')) }, { requiredKeys: [] }),
  },
  { requiredKeys: ['from', 'to', 'subject', 'content'] },
)

/** The email, or the paths that were refused. */
function check(given: SendEmailBody): NewEmail | readonly string[] {
  try {
    return checkEmail(given, defaults)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    expect(['validation_failed', 'duplicate_recipient']).toContain(error.code)
    return (error.errors ?? []).map(({ path }) => path)
  }
}

const sound: SendEmailBody = {
  from: { email: 'news@example.com' },
  to: [{ email: 'ada@example.com' }],
  subject: 'Hello',
  content: [{ type: 'text/plain', value: 'Hello' }],
}

const ALLOWED_FIELDS = [
  'From',
  'To',
  'Cc',
  'Reply-To',
  'Subject',
  'Message-ID',
  'Date',
  'MIME-Version',
  'Content-Type',
  'Content-Transfer-Encoding',
  'Content-Disposition',
  'Content-ID',
]

describe('any body', () => {
  it('accepts a body, or refuses it by paths of its own fields, and throws nothing else', () => {
    fc.assert(
      fc.property(body, (given) => {
        const result = check(given)
        if (!Array.isArray(result)) return
        expect(result.length).toBeGreaterThan(0)
        const fields = Object.keys(given)
        for (const path of result) expect(fields).toContain(path.split('/')[1])
      }),
      { numRuns: 500 },
    )
  })

  it('builds no header that the sender of an accepted body did not ask for', async () => {
    await fc.assert(
      fc.asyncProperty(body, async (given) => {
        // Mostly sound, so that much is accepted: one or two fields at a time are hostile.
        const email = check({ ...sound, ...given, from: sound.from, to: sound.to })
        if (Array.isArray(email)) return
        await expectNoInjection(email as NewEmail)
      }),
      { numRuns: 300 },
    )
    await fc.assert(
      fc.asyncProperty(body, fc.constantFrom(...KEYS), async (given, key) => {
        const email = check({
          ...sound,
          ...(given[key] === undefined ? {} : { [key]: given[key] }),
        })
        if (!Array.isArray(email)) await expectNoInjection(email as NewEmail)
      }),
      { numRuns: 500 },
    )
  })
})

const KEYS = [
  'from',
  'to',
  'cc',
  'subject',
  'replyTo',
  'headers',
  'attachments',
  'content',
] as const

async function expectNoInjection(email: NewEmail): Promise<void> {
  const { content } = email
  const date = new Date(0)
  const prepared = await prepareMessage({ ...content, id: '1', date })
  const message = await composeMessage(prepared, '<1.0@example.com>')
  const raw = message.toString('latin1')
  expect(raw).not.toMatch(/[^\r]\n|\r[^\n]|\0/)
  const head = raw.slice(0, raw.indexOf('\r\n\r\n')).replaceAll(/\r\n[ \t]+/g, ' ')
  const names = head.split('\r\n').map((line) => line.slice(0, line.indexOf(':')))
  const own = content.headers.map(([name]) => name.toLowerCase())
  const allowed = [...ALLOWED_FIELDS.map((name) => name.toLowerCase()), ...own]
  for (const name of names) expect(allowed).toContain(name.toLowerCase())
  expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(names.length)
}

describe('an accepted email', () => {
  it('puts addresses in wire form in the headers, and as given in the recipients', () => {
    const email = checkEmail(
      {
        ...sound,
        to: [{ email: 'Ada@BÜCHER.example', name: '' }],
        cc: [{ email: 'b@EXAMPLE.com' }],
      },
      defaults,
    )
    expect(email.content.to).toEqual([{ address: 'Ada@xn--bcher-kva.example' }])
    expect(email.content.cc).toEqual([{ address: 'b@example.com' }])
    expect(email.recipients).toEqual([
      { email: 'Ada@BÜCHER.example', address: 'Ada@xn--bcher-kva.example', type: 'to' },
      { email: 'b@EXAMPLE.com', address: 'b@example.com', type: 'cc' },
    ])
  })

  it('fills fields that were left out with their defaults', () => {
    expect(checkEmail(sound, defaults)).toMatchObject({
      customArgs: null,
      maxAttempts: 5,
      expiresInMs: 1_000,
    })
  })

  it('removes the line ends of base64 of any length', async () => {
    const long = 'QUJD'.repeat(200_000)
    const attachments = [
      { filename: 'a', content: 'aG\r\nk=\n' },
      { filename: 'b', content: long.replaceAll('QUJD', 'QU\r\nJD\n') },
    ]
    const email = checkEmail(await withoutLineEnds({ ...sound, attachments }), defaults)
    expect(email.content.attachments).toEqual([
      { filename: 'a', content: 'aGk=' },
      { filename: 'b', content: long },
    ])
  })

  it('accepts custom_args of 10 KiB, and refuses one byte more', () => {
    const withArgs = (bytes: number) => {
      const overhead = JSON.stringify({ a: '' }).length
      return { ...sound, custom_args: { a: 'x'.repeat(bytes - overhead) } }
    }
    expect(check(withArgs(customArgsBytesMax))).not.toBeInstanceOf(Array)
    expect(check(withArgs(customArgsBytesMax + 1))).toEqual(['/custom_args'])
  })

  it('accepts content of 10 MiB in UTF-8, and refuses one byte more', () => {
    const html = 'é'.repeat(contentBytesMax / 4)
    const withText = (value: string) => ({
      ...sound,
      content: [
        { type: 'text/html' as const, value: html },
        { type: 'text/plain' as const, value },
      ],
    })
    expect(check(withText(html))).not.toBeInstanceOf(Array)
    expect(check(withText(`${html}x`))).toEqual(['/content/1/value'])
  })
})
