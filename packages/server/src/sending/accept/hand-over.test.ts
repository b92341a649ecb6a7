import { describe, expect, it } from 'vitest'
import { newUlid } from '../../platform/ids.ts'
import { createHandOver, type MailToHandOver } from './hand-over.ts'

const KIB = 1024

function mailOf(o: { bytes?: number; tenantId?: string; file?: string } = {}): MailToHandOver {
  const { bytes = KIB, tenantId = 'tn_a', file } = o
  return {
    tenantId,
    refId: newUlid(),
    mailerId: 'smtp_1',
    email: {
      content: {
        from: { address: 'shop@example.com' },
        to: [{ address: 'ada@example.com' }],
        cc: [],
        subject: 'Your order',
        headers: [],
        attachments: file === undefined ? [] : [{ filename: 'a', content: file }],
      },
      recipients: [{ email: 'ada@example.com', address: 'ada@example.com', type: 'to' }],
      customArgs: null,
      maxAttempts: 5,
      expiresInMs: 1,
      tracking: { opens: false, clicks: false, unsubscribes: false },
    },
    suppressed: [],
    contentBytes: bytes,
    traceparent: '',
    createdAt: new Date(0),
  }
}

const claimOf = ({ tenantId, refId }: MailToHandOver) =>
  ({ tenantId, refId, attempt: 1, was: 'waiting' }) as const

describe('mail that was accepted a moment ago', () => {
  it('is handed over once', () => {
    const handOver = createHandOver()
    const mail = mailOf()
    handOver.put(mail)
    expect(handOver.take(claimOf(mail))?.email.ref_id).toBe(mail.refId)
    expect(handOver.take(claimOf(mail))).toBeUndefined()
  })

  it('is not handed to another tenant, and stays for its own', () => {
    const handOver = createHandOver()
    const mail = mailOf()
    handOver.put(mail)
    expect(handOver.take({ ...claimOf(mail), tenantId: 'tn_b' })).toBeUndefined()
    expect(handOver.take(claimOf(mail))).toBeDefined()
  })

  it.each([
    ['another attempt', { attempt: 2 }],
    ['a claim that ran out before', { was: 'sending' }],
    ['one that may have been sent', { was: 'dot' }],
  ] as const)('is read from the database for %s', (_, change) => {
    const handOver = createHandOver()
    const mail = mailOf()
    handOver.put(mail)
    expect(handOver.take({ ...claimOf(mail), ...change })).toBeUndefined()
  })

  it('is not kept where it is long, has files, or is as much as may be kept', () => {
    const handOver = createHandOver()
    const long = mailOf({ bytes: 33 * KIB })
    const withFile = mailOf({ file: 'QUJD' })
    for (const mail of [long, withFile]) {
      handOver.put(mail)
      expect(handOver.take(claimOf(mail))).toBeUndefined()
    }
    const many = Array.from({ length: 600 }, () => mailOf({ bytes: 30 * KIB }))
    for (const mail of many) handOver.put(mail)
    const kept = many.filter((mail) => handOver.take(claimOf(mail)))
    // The first, of 32 KiB each in 16 MiB.
    expect(kept).toEqual(many.slice(0, 512))
  })

  it('makes room after half a minute, the oldest first', () => {
    let nowMs = 0
    const handOver = createHandOver(() => nowMs)
    const put = () => {
      const mail = mailOf({ bytes: 30 * KIB })
      handOver.put(mail)
      return mail
    }
    const forgotten = Array.from({ length: 256 }, put)
    nowMs = 1
    const later = Array.from({ length: 256 }, put)
    nowMs = 29_999
    expect(handOver.take(claimOf(put()))).toBeUndefined()
    nowMs = 30_000
    expect(handOver.take(claimOf(put()))).toBeDefined()
    expect(forgotten.filter((mail) => handOver.take(claimOf(mail)))).toEqual([])
    expect(later.filter((mail) => handOver.take(claimOf(mail)))).toHaveLength(256)
  })
})
