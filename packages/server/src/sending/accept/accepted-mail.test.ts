import { describe, expect, it } from 'vitest'
import { newUlid } from '../../platform/ids.ts'
import { createAcceptedMail, type JustAccepted } from './accepted-mail.ts'

const KIB = 1024

function mailOf(): JustAccepted {
  return {
    tenantId: 'tn_a',
    refId: newUlid(),
    mailerId: 'smtp_1',
    email: {
      content: {
        from: { address: 'shop@example.com' },
        to: [{ address: 'ada@example.com' }],
        cc: [],
        subject: 'Your order',
        headers: [],
        attachments: [],
      },
      recipients: [{ email: 'ada@example.com', address: 'ada@example.com', type: 'to' }],
      customArgs: null,
      maxAttempts: 5,
      expiresInMs: 1,
      tracking: { opens: false, clicks: false, unsubscribes: false },
    },
    suppressed: [],
    contentBytes: 400,
    traceparent: '',
    createdAt: new Date(0),
  }
}

const claimOf = ({ tenantId, refId }: JustAccepted) =>
  ({ tenantId, refId, attempt: 1, was: 'waiting' }) as const

describe('mail that was accepted a moment ago', () => {
  it('is handed over once', () => {
    const accepted = createAcceptedMail(() => true)
    const mail = mailOf()
    accepted.put(mail)
    expect(accepted.take([claimOf(mail)])?.email.ref_id).toBe(mail.refId)
    expect(accepted.take([claimOf(mail)])).toBeUndefined()
  })

  it('is kept of mailers that this process serves alone', () => {
    const accepted = createAcceptedMail((mailerId) => mailerId === 'smtp_1')
    const [mine, other] = [mailOf(), { ...mailOf(), mailerId: 'smtp_2' }]
    for (const mail of [mine, other]) accepted.put(mail)
    expect(accepted.take([claimOf(other)])).toBeUndefined()
    expect(accepted.take([claimOf(mine)])).toBeDefined()
  })

  it('is not handed to another tenant, and stays for its own', () => {
    const accepted = createAcceptedMail(() => true)
    const mail = mailOf()
    accepted.put(mail)
    expect(accepted.take([{ ...claimOf(mail), tenantId: 'tn_b' }])).toBeUndefined()
    expect(accepted.take([claimOf(mail)])).toBeDefined()
  })

  it.each([
    ['another attempt', { attempt: 2 }],
    ['a claim that ran out before', { was: 'sending' }],
    ['one that may have been sent', { was: 'dot' }],
  ] as const)('is read from the database for %s', (_, change) => {
    const accepted = createAcceptedMail(() => true)
    const mail = mailOf()
    accepted.put(mail)
    expect(accepted.take([{ ...claimOf(mail), ...change }])).toBeUndefined()
  })

  it('is handed over once to all recipients, where it is the first claim of each', () => {
    const accepted = createAcceptedMail(() => true)
    const [first, second] = [mailOf(), mailOf()]
    for (const mail of [first, second]) accepted.put(mail)
    expect(accepted.take([claimOf(first), claimOf(first)])).toBeDefined()
    expect(accepted.take([claimOf(second), { ...claimOf(second), attempt: 2 }])).toBeUndefined()
    expect(accepted.take([])).toBeUndefined()
  })

  it('has its own Message-ID where it came with one, and nobody who is suppressed', () => {
    const accepted = createAcceptedMail(() => true)
    const { email, ...rest } = mailOf()
    const recipients = ['a', 'b'].map((name) => {
      const address = `${name}@example.com`
      return { email: address, address, type: 'to' as const }
    })
    const raw = { messageId: '<own@example.com>', isSealed: false }
    const mail = { ...rest, email: { ...email, recipients, raw }, suppressed: [0] }
    accepted.put(mail)
    expect(accepted.take([claimOf(mail)])).toMatchObject({
      email: { message_id: '<own@example.com>' },
      recipients: [{ n: 1, email: 'b@example.com', message_id: '<own@example.com>' }],
    })
  })

  it.each([
    ['it is long', {}, { contentBytes: 33 * KIB }],
    ['recipients have data of their own', { own: { recipients: [], renderings: [] } }, {}],
    ['it has many arguments', { customArgs: { a: 'x'.repeat(KIB) } }, {}],
  ])('is not kept where %s', (_, ofEmail, ofMail) => {
    const accepted = createAcceptedMail(() => true)
    const { email, ...rest } = mailOf()
    const mail = { ...rest, ...ofMail, email: { ...email, ...ofEmail } }
    accepted.put(mail)
    expect(accepted.take([claimOf(mail)])).toBeUndefined()
  })

  it.each([
    ['files', { attachments: [{ filename: 'a', content: 'QUJD' }] }],
    ['a message that was handed in', { rawBytes: Buffer.from('x') }],
  ])('is not kept where it has %s', (_, ofContent) => {
    const accepted = createAcceptedMail(() => true)
    const { email, ...rest } = mailOf()
    const mail = { ...rest, email: { ...email, content: { ...email.content, ...ofContent } } }
    accepted.put(mail)
    expect(accepted.take([claimOf(mail)])).toBeUndefined()
  })

  it('takes as much memory as may be, however it is spent', () => {
    const ofAll = (change: (email: JustAccepted['email']) => Partial<JustAccepted['email']>) => {
      const accepted = createAcceptedMail(() => true)
      const many = Array.from({ length: 30_000 }, () => {
        const { email, ...rest } = mailOf()
        return { ...rest, email: { ...email, ...change(email) } }
      })
      for (const mail of many) accepted.put(mail)
      return many.filter((mail) => accepted.take([claimOf(mail)])).length
    }
    const usual = ofAll(() => ({}))
    expect(usual).toBeGreaterThan(1_000)
    expect(usual).toBeLessThan(30_000)
    // Of "[],", each a list of its own.
    const lists = Array.from({ length: 300 }, () => [])
    expect(ofAll(() => ({ customArgs: { a: lists } }))).toBeLessThan(1_600)
    expect(ofAll(() => ({ links: ['x'.repeat(32 * KIB)] }))).toBeLessThan(512)
    const html = 'ж'.repeat(32 * KIB)
    expect(ofAll(({ content }) => ({ content: { ...content, html } }))).toBeLessThan(512)
    expect(
      ofAll(({ recipients }) => ({
        recipients: Array.from({ length: 64 }, () => recipients).flat(),
      })),
    ).toBeLessThan(1_000)
  })
})
