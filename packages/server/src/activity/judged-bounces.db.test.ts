/**
 * What providers' bounces rest on, and whom they suppress (docs/reference/suppressions.md#bounces), the whole
 * way from the callback.
 */
import { describe, expect, it } from 'vitest'
import { type ProviderReport, type SentMail, useFeedback } from '../../test/feedback.ts'
import { createLogger } from '../platform/log.ts'
import { getEmail } from './get-email.ts'

const world = useFeedback()

const suppressed = async (tenantId: string) => {
  const { rows } = await world.db.query<{ email: string }>(
    `select email from suppressions_address where tenant_id = $1 and reason = 'bounced'`,
    [tenantId],
  )
  return rows.map(({ email }) => email)
}

async function bounced(
  kind: 'sparkpost' | 'sendgrid',
  report: Pick<ProviderReport, 'reason' | 'fields'>,
) {
  const account = await world.account(kind)
  const { tenantId } = account
  const mail = await world.send({ tenantId })
  await world.report(account, { type: 'bounced', mail, ...report })
  const { recipients } = await getEmail({ db: world.db }, tenantId, mail.refId, {})
  const [feedback] = recipients[0]?.feedback ?? []
  return { suppressed: await suppressed(tenantId), feedback, mail }
}

const bySendGrid = (reason: string, fields: object) =>
  bounced('sendgrid', { reason, fields: { status: undefined, ...fields } })

describe('a bounce that a provider calls permanent', () => {
  it.each([
    ['550 5.1.1 <ada@example.com>: no such user', 'enhanced_code', '5.1.1'],
    ['550 <ada@example.com>: User unknown', 'words', 'user unknown'],
    ['', 'words', 'Invalid Recipient'],
    ['550 Sorry', 'words', 'Invalid Recipient'],
  ])('suppresses when the reply agrees or says nothing: %s', async (reason, by, evidence) => {
    const found = await bounced('sparkpost', reason === '' ? {} : { reason })
    expect(found.suppressed).toEqual(['ada@example.com'])
    expect(found.feedback).toMatchObject({
      hard: true,
      classified: { category: 'invalid_recipient', by, evidence },
    })
  })

  it.each([
    ['550 5.7.1 Refused by policy', 'blocked_policy'],
    ['550 Your IP address blocked', 'blocked_reputation'],
    ['552 5.2.2 User unknown', 'mailbox_full'],
    ['450 4.1.1 User unknown', 'invalid_recipient'],
    ['554 5.4.7 [internal] message timeout (last transfail: 450 4.1.1 User unknown)', 'expired'],
  ])('suppresses nobody when the reply contradicts: %s', async (reason, category) => {
    const found = await bounced('sparkpost', { reason })
    expect(found.suppressed).toEqual([])
    expect(found.feedback).toMatchObject({ meaning: 'bounced', classified: { category } })
    expect(await world.statuses(found.mail)).toEqual(['bounced'])
  })

  it('needs a reply about the address when the provider gives no verdict', async () => {
    const unclear = await bySendGrid('550 Sorry', { type: 'bounce' })
    expect(unclear.suppressed).toEqual([])
    expect(unclear.feedback?.classified).toMatchObject({ category: 'unknown', by: 'reply_code' })
    const class30 = await bounced('sparkpost', {
      reason: '550 Sorry',
      fields: { bounce_class: '30' },
    })
    expect(class30.suppressed).toEqual([])
    const clear = await bySendGrid('550 No such user', { type: 'bounce' })
    expect(clear.suppressed).toEqual(['ada@example.com'])
  })

  it('suppresses by its status code or by its verdict when the words are unknown', async () => {
    const byStatus = await bySendGrid('Nope', { type: 'bounce', status: '5.1.1' })
    expect(byStatus.suppressed).toEqual(['ada@example.com'])
    expect(byStatus.feedback).toMatchObject({
      error_code: null,
      classified: { by: 'enhanced_code', evidence: '5.1.1' },
    })
    const byVerdict = await bySendGrid('Nope', {
      type: 'bounce',
      bounce_classification: 'Invalid Address',
    })
    expect(byVerdict.suppressed).toEqual(['ada@example.com'])
    expect(byVerdict.feedback?.classified).toMatchObject({
      by: 'words',
      evidence: 'Invalid Address',
    })
  })

  it('suppresses an address on the list of the provider', async () => {
    const found = await bySendGrid('Bounced Address', { event: 'dropped', type: undefined })
    expect(found.suppressed).toEqual(['ada@example.com'])
    expect(found.feedback?.classified).toMatchObject({ evidence: 'Bounced Address' })
  })
})

it('logs a bounce in one line with its evidence, without the local part', async () => {
  const lines: Record<string, unknown>[] = []
  const destination = { write: (text: string) => void lines.push(JSON.parse(text)) }
  const { app, feedback } = await world.another({
    log: createLogger({ level: 'info', destination }),
  })
  const account = await world.account('sparkpost')
  const mail: SentMail = await world.send({ tenantId: account.tenantId })
  const event = {
    type: 'bounce',
    event_id: 'e1',
    bounce_class: '10',
    raw_rcpt_to: 'ada@example.com',
    raw_reason: '550 mailbox ada@example.com: user "ada" unknown',
    rcpt_meta: { postrider_ref: `${mail.refId}.0` },
  }
  for (let i = 0; i < 2; i++) {
    const payload = [{ msys: { message_event: event } }]
    expect((await app.inject({ method: 'POST', url: account.url, payload })).statusCode).toBe(200)
    await feedback.callbacks.runOnce()
  }
  const found = lines.filter(({ msg }) => msg === 'bounce.reported')
  expect(found).toMatchObject([
    {
      tenant_id: account.tenantId,
      ref_id: mail.refId,
      n: 0,
      relay: 'sparkpost',
      domain: 'example.com',
      hard: true,
      suppressed: true,
      classified: { category: 'invalid_recipient', by: 'words', evidence: 'address unknown' },
    },
  ])
  expect(JSON.stringify(found)).not.toContain('ada')
})
