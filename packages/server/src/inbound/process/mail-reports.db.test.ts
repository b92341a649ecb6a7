/** What mail servers report of our own emails is believed of what it names, and counts once. */
import { describe, expect, it } from 'vitest'
import { rawMail, routeOf } from '../../../test/inbound.ts'
import { useInbound } from '../../../test/inbound-worker.ts'
import { accept, eventsOf, recipientsOf } from '../../../test/sender.ts'
import { addMailer, keyRing } from '../../../test/sending.ts'
import { newId, newUlid } from '../../platform/ids.ts'
import { createLogger } from '../../platform/log.ts'
import { createReturnPathTokens } from '../../sending/index.ts'

const world = useInbound()

interface Sent {
  readonly tenantId: string
  readonly refId: string
}

/** An email, to Ada and Ben if nothing else is said, handed over by SMTP: or whatever became of it. */
async function send(
  status = 'delivered',
  outcome: 'accepted' | 'uncertain' | 'none' = 'accepted',
  recipients: readonly string[] = ['Ada@example.com', 'ben@example.com'],
): Promise<Sent> {
  const { db } = world
  const tenantId = newId('tn')
  await addMailer(db, { tenantId })
  const to = recipients.map((email) => ({ email }))
  const refId = await accept(db, { to }, tenantId)
  if (outcome !== 'none')
    await db.query(
      `insert into sending_attempt (tenant_id, ref_id, n, attempt, day, mailer_id, max_attempts,
         started_at, finished_at, outcome, category, failed_reason, retry_scheduled)
       select r.tenant_id, r.ref_id, r.n, 1, r.day, e.mailer_id, 5, now(), now(), $2,
              case when $2 = 'uncertain' then 'uncertain' end, '', $3
         from sending_recipient r join sending_email e using (tenant_id, ref_id, day)
        where r.ref_id = $1`,
      [refId, outcome, status === 'deferred'],
    )
  await become({ tenantId, refId }, status)
  return { tenantId, refId }
}

async function become({ refId }: Sent, status: string): Promise<void> {
  await world.db.query('update sending_recipient set status = $2 where ref_id = $1', [
    refId,
    status,
  ])
  if (!['queued', 'deferred', 'sending'].includes(status))
    await world.db.query('delete from sending_queue where ref_id = $1', [refId])
}

interface ReportOptions {
  readonly n?: number
  readonly recipient?: string
  readonly status?: string
  readonly action?: string
  readonly date?: string
  readonly words?: string
  readonly envelopeId?: string
  /** '' for none. */
  readonly messageId?: string
}

function deliveryReport(
  { refId }: Sent,
  {
    n = 0,
    recipient = 'ada@example.com',
    status = '5.1.1',
    action = 'failed',
    date = '10:00',
    words = '550 5.1.1 User unknown',
    ...o
  }: ReportOptions = {},
): Buffer {
  const { messageId = `<${refId}.${n}@example.com>` } = o
  const envelope = o.envelopeId === undefined ? '' : `Original-Envelope-Id: ${o.envelopeId}\r\n`
  const lines = [
    '--r\r\nContent-Type: text/plain\r\n\r\nIt could not be delivered.',
    `--r\r\nContent-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; mx.example.net\r\n${envelope}`,
    `Final-Recipient: rfc822; ${recipient}\r\nAction: ${action}\r\nStatus: ${status}`,
    `Diagnostic-Code: smtp; ${words}`,
    `--r\r\nContent-Type: text/rfc822-headers\r\n\r\n${messageId === '' ? '' : `Message-ID: ${messageId}\r\n`}Subject: Hello`,
    '--r--\r\n',
  ]
  return rawMail({
    messageId: `<${newUlid()}@mx.example.net>`,
    header: `Date: Sun, 22 Nov 2026 ${date}:00 +0000\r\nContent-Type: multipart/report; report-type=delivery-status; boundary=r\r\n`,
    body: lines.join('\r\n'),
  })
}

/** Of Ada. */
function byEnvelope(sent: Sent, envelopeId: string): Buffer {
  return deliveryReport(sent, { messageId: '', envelopeId })
}

function complaint({ refId }: Sent, n: number, recipient = 'redacted@example.com'): Buffer {
  const lines = [
    '--r\r\nContent-Type: text/plain\r\n\r\nSomebody complains.',
    `--r\r\nContent-Type: message/feedback-report\r\n\r\nFeedback-Type: abuse\r\nUser-Agent: x/1\r\nVersion: 1\r\nOriginal-Rcpt-To: ${recipient}\r\n`,
    `--r\r\nContent-Type: message/rfc822\r\n\r\nMessage-ID: <${refId}.${n}@example.com>\r\nSubject: Hello\r\n\r\nHello`,
    '--r--\r\n',
  ]
  return rawMail({
    messageId: `<${newUlid()}@mx.example.net>`,
    header: 'Content-Type: multipart/report; report-type=feedback-report; boundary=r\r\n',
    body: lines.join('\r\n'),
  })
}

async function receive({ tenantId }: Pick<Sent, 'tenantId'>, raw: Buffer): Promise<void> {
  await world.receive({ raw, routes: [[routeOf({ tenantId }), 'bounces@in.example.com']] })
  await world.worker().runOnce()
}

const returnPaths = createReturnPathTokens(keyRing)

/** To the return path of a copy, or of another tenant's. */
async function returnTo(
  { tenantId, refId }: Sent,
  raw: Buffer,
  o: { readonly n?: number; readonly madeFor?: string; readonly also?: string } = {},
): Promise<void> {
  const local = returnPaths.make({ tenantId: o.madeFor ?? tenantId, refId, n: o.n ?? 0 })
  const to = [`${local}@in.example.com`, ...(o.also === undefined ? [] : [o.also])] as const
  await world.receive({ raw, routes: [[routeOf({ tenantId }), ...to]] })
  await world.worker().runOnce()
}

const told = async ({ refId }: Sent) =>
  (await eventsOf(world.db, refId)).map(({ event, details }) => [event, details.email])
const statuses = async ({ refId }: Sent) =>
  (await recipientsOf(world.db, refId)).map(({ status }) => status)
const suppressed = async ({ tenantId }: Sent) => {
  const { rows } = await world.db.query<{ email: string; reason: string }>(
    'select email, reason from suppressions_address where tenant_id = $1 order by email',
    [tenantId],
  )
  return rows.map(({ email, reason }) => [email, reason])
}

const classifiedOf = async (sent: Awaited<ReturnType<typeof send>>) => {
  const { rows } = await world.db.query<{ classified: unknown }>(
    'select classified from feedback_fact where ref_id = $1',
    [sent.refId],
  )
  return rows.map(({ classified }) => classified)
}

describe('[contract 3.5] a delivery report', () => {
  it('makes a MAIL_BOUNCE of the recipient it names, and is an incoming email as well', async () => {
    const sent = await send()
    await receive(sent, deliveryReport(sent))
    const [event] = await eventsOf(world.db, sent.refId)
    expect(event).toMatchObject({
      event: 'MAIL_BOUNCE',
      details: {
        ref_id: sent.refId,
        email: ['Ada@example.com'],
        failed_reason: expect.stringContaining('User unknown'),
      },
    })
    // The interface gives these to bounces of provider A alone.
    for (const name of ['error_code', 'num_retries', 'classified'])
      expect(event?.details).not.toHaveProperty(name)
    expect(await classifiedOf(sent)).toEqual([
      { category: 'invalid_recipient', by: 'enhanced_code', evidence: '5.1.1' },
    ])
    expect(await statuses(sent)).toEqual(['bounced', 'delivered'])
    expect(await suppressed(sent)).toEqual([['Ada@example.com', 'bounced']])
    expect(await world.events()).toHaveLength(1)
  })

  describe('of a message that was handed in with a Message-ID of its own', () => {
    const messageId = '<one@shop.example.com>'
    const handIn = async (recipients?: readonly string[]) => {
      const sent = await send('delivered', 'accepted', recipients)
      await world.db.query('update sending_recipient set message_id = $2 where ref_id = $1', [
        sent.refId,
        messageId,
      ])
      return sent
    }

    it('is about that one, of this tenant alone', async () => {
      const [other, sent] = [await handIn(), await handIn()]
      await receive(sent, deliveryReport(sent, { messageId }))
      await receive(sent, deliveryReport(sent, { messageId, date: '11:00' }))
      expect(await told(sent)).toEqual([['MAIL_BOUNCE', ['Ada@example.com']]])
      expect(await statuses(sent)).toEqual(['bounced', 'delivered'])
      expect(await suppressed(sent)).toEqual([['Ada@example.com', 'bounced']])
      expect(await told(other)).toEqual([])
      expect(await suppressed(other)).toEqual([])
    })

    it('is about the newest where several have it, and about nobody who had no copy', async () => {
      const old = await handIn()
      const { tenantId } = old
      const newRefId = await accept(world.db, { to: [{ email: 'ada@example.com' }] }, tenantId)
      await world.db.query(
        `update sending_recipient set message_id = $2, status = 'delivered' where ref_id = $1`,
        [newRefId, messageId],
      )
      await receive(old, deliveryReport(old, { messageId, recipient: 'cy@example.com' }))
      expect(await told({ tenantId, refId: newRefId })).toEqual([])
      await receive(old, deliveryReport(old, { messageId, date: '11:00' }))
      expect(await told({ tenantId, refId: newRefId })).toEqual([
        ['MAIL_BOUNCE', ['ada@example.com']],
      ])
      expect(await told(old)).toEqual([])
    })
  })

  it('counts once, however it arrives and however often', async () => {
    const sent = await send()
    const report = deliveryReport(sent)
    await receive(sent, report)
    await receive(sent, deliveryReport(sent, { date: '11:00' }))
    await world.fetched({ tenantId: sent.tenantId, raw: report })
    await world.fetched({ tenantId: sent.tenantId, raw: report, mailerId: 'imap_2' })
    await Promise.all([world.worker().runOnce(), world.worker().runOnce()])
    expect(await told(sent)).toEqual([['MAIL_BOUNCE', ['Ada@example.com']]])
    expect(await world.events()).toHaveLength(4)
  })

  it('suppresses when it is permanent after a temporary one, and makes no second event', async () => {
    const sent = await send()
    await receive(sent, deliveryReport(sent, { status: '5.2.2', words: '552 5.2.2 Mailbox full' }))
    expect(await suppressed(sent)).toEqual([])
    await receive(sent, deliveryReport(sent, { date: '11:00' }))
    expect(await suppressed(sent)).toEqual([['Ada@example.com', 'bounced']])
    await receive(sent, deliveryReport(sent, { status: '5.2.2', words: '552 5.2.2 Mailbox full' }))
    expect(await told(sent)).toEqual([['MAIL_BOUNCE', ['Ada@example.com']]])
  })

  it.each([
    ['without a Message-ID', ''],
    ['with the Message-ID that a server has put in the place of ours', '<1@mx.example.net>'],
  ])('%s, belongs to the email whose envelope id it names', async (_, messageId) => {
    const sent = await send()
    const envelopeId = `${sent.refId}.0`
    await receive(sent, deliveryReport(sent, { messageId, envelopeId }))
    await receive(sent, deliveryReport(sent, { date: '11:00', envelopeId }))
    expect(await told(sent)).toEqual([['MAIL_BOUNCE', ['Ada@example.com']]])
    expect(await suppressed(sent)).toEqual([['Ada@example.com', 'bounced']])
  })

  it('suppresses nobody when it is temporary', async () => {
    const sent = await send()
    await receive(sent, deliveryReport(sent, { status: '4.2.2', words: '452 4.2.2 Mailbox full' }))
    expect(await told(sent)).toEqual([['MAIL_BOUNCE', ['Ada@example.com']]])
    expect(await suppressed(sent)).toEqual([])
  })

  it.each([
    ['5.2.2', '552 Account(s) <Ada@example.com> does not have enough space', 'mailbox_full'],
    ['5.7.1', '550 5.7.1 This account does not allow attachments', 'content_rejected'],
    ['5.0.0', '550 Your IP address blocked', 'blocked_reputation'],
    ['5.0.0', '550 Sorry', 'unknown'],
  ])(
    '[contract 7.4] suppresses nobody when it is not about the address: %s %s',
    async (status, words, category) => {
      const sent = await send()
      await receive(sent, deliveryReport(sent, { status, words }))
      expect(await told(sent)).toEqual([['MAIL_BOUNCE', ['Ada@example.com']]])
      expect(await suppressed(sent)).toEqual([])
      expect(await classifiedOf(sent)).toMatchObject([{ category }])
    },
  )

  it('makes no bounce when the server keeps trying or has delivered', async () => {
    const sent = await send()
    await receive(sent, deliveryReport(sent, { action: 'delayed', status: '4.4.1' }))
    await receive(sent, deliveryReport(sent, { action: 'delivered', status: '2.0.0' }))
    expect(await told(sent)).toEqual([])
    expect(await statuses(sent)).toEqual(['delivered', 'delivered'])
  })
})

describe('[contract 3.5] a complaint', () => {
  it('makes MAIL_SPAM once for the copy whose Message-ID and recipient it names', async () => {
    const sent = await send()
    await receive(sent, complaint(sent, 1, 'Ben@example.com'))
    await receive(sent, complaint(sent, 1, 'ben@example.com'))
    expect(await told(sent)).toEqual([['MAIL_SPAM', ['ben@example.com']]])
    expect(await suppressed(sent)).toEqual([['ben@example.com', 'complained']])
  })

  it.each([
    ['no recipient', ''],
    ['one that is blacked out', 'redacted@example.com'],
    ['another address', 'digest-7@example.net'],
  ])(
    '[contract 7.4] does nothing with %s, even where the email has one recipient only',
    async (_, named) => {
      const sent = await send('delivered', 'accepted', ['ada@example.com'])
      await receive(sent, complaint(sent, 0, named))
      expect(await told(sent)).toEqual([])
      expect(await suppressed(sent)).toEqual([])
      // What it names the right one by counts.
      await receive(sent, complaint(sent, 0, 'Ada@example.com'))
      expect(await told(sent)).toEqual([['MAIL_SPAM', ['ada@example.com']]])
    },
  )
})

describe('a report without consequences', () => {
  it.each<[string, (sent: Sent) => readonly [Pick<Sent, 'tenantId'>, Buffer]]>([
    ['to another tenant', (sent) => [{ tenantId: newId('tn') }, deliveryReport(sent)]],
    [
      'of another recipient',
      (sent) => [sent, deliveryReport(sent, { recipient: 'ben@example.com' })],
    ],
    [
      'of another recipient, by the id of its envelope',
      (sent) => [sent, byEnvelope(sent, `${sent.refId}.1`)],
    ],
    [
      'to another tenant, by the id of its envelope',
      (sent) => [{ tenantId: newId('tn') }, byEnvelope(sent, `${sent.refId}.0`)],
    ],
    ['by the id of an envelope of others', (sent) => [sent, byEnvelope(sent, 'QQ1')]],
    [
      'by what is no id of an envelope of ours',
      (sent) => [sent, byEnvelope(sent, `${sent.refId}.0@example.com`)],
    ],
    ['that hides which of several complains', (sent) => [sent, complaint(sent, 1)]],
    [
      'that is the complaint of another recipient',
      (sent) => [sent, complaint(sent, 1, 'ada@example.com')],
    ],
    ['of nobody', (sent) => [sent, deliveryReport(sent, { recipient: '' })]],
    ['of a copy that is not there', (sent) => [sent, deliveryReport(sent, { n: 7 })]],
    ['of a number that is none', (sent) => [sent, deliveryReport(sent, { n: 99_999 })]],
    [
      'of an email that is not there',
      (sent) => [sent, deliveryReport({ ...sent, refId: newUlid() })],
    ],
    [
      'of an email that is no longer kept',
      (sent) => [sent, deliveryReport({ ...sent, refId: `01A${newUlid().slice(3)}` })],
    ],
  ])('is a report %s', async (_, of) => {
    const sent = await send()
    const [to, report] = of(sent)
    await receive(to, report)
    expect(await told(sent)).toEqual([])
    expect(await suppressed(sent)).toEqual([])
    expect(await statuses(sent)).toEqual(['delivered', 'delivered'])
    expect(await world.events()).toHaveLength(1)
  })

  it('names one of our ids and another address, and is counted and logged as that', async () => {
    const sent = await send()
    const lines: string[] = []
    const log = createLogger({ level: 'info', destination: { write: (line) => lines.push(line) } })
    const seen: string[] = []
    const raw = deliveryReport(sent, { recipient: 'eve@example.com' })
    await world.receive({
      raw,
      routes: [[routeOf({ tenantId: sent.tenantId }), 'bounces@in.example.com']],
    })
    const observe = (_: unknown, outcomes: readonly string[]) => void seen.push(...outcomes)
    await world.worker({ log, observe }).runOnce()
    expect(await told(sent)).toEqual([])
    expect(seen).toEqual(['other_recipient'])
    expect(lines.map((line) => JSON.parse(line))).toContainEqual(
      expect.objectContaining({ msg: 'report.other_recipient', reports: 1 }),
    )
  })

  it.each(['suppressed', 'blocked', 'rejected'])(
    'is a report on mail that was never sent: %s',
    async (status) => {
      const sent = await send(status, 'none')
      await receive(sent, deliveryReport(sent))
      expect(await told(sent)).toEqual([])
      expect(await statuses(sent)).toEqual([status, status])
    },
  )
})

describe('a report on an email with an attempt under way', () => {
  const waiting = async () => {
    const { rows } = await world.db.query<{ tries: number; is_later: boolean }>(
      'select tries, due_at > now() as is_later from inbound_queue',
    )
    return rows
  }

  it.each(['queued', 'sending', 'deferred'])(
    'is tried again after the attempt: %s',
    async (status) => {
      const sent = await send(status)
      await receive(sent, deliveryReport(sent))
      expect(await told(sent)).toEqual([])
      expect(await statuses(sent)).toEqual([status, status])
      expect(await world.events()).toHaveLength(1)
      expect(await waiting()).toEqual([{ tries: 0, is_later: true }])
      await world.endLeases()
      await world.worker().runOnce()
      expect(await waiting()).toEqual([{ tries: 0, is_later: true }])
      await become(sent, 'delivered')
      await world.endLeases()
      const worker = world.worker()
      await worker.runOnce()
      expect(worker.results).toEqual(['looked_again'])
      expect(await told(sent)).toEqual([['MAIL_BOUNCE', ['Ada@example.com']]])
      expect(await world.events()).toHaveLength(1)
      expect(await waiting()).toEqual([])
    },
  )

  it('is given up after a day', async () => {
    const sent = await send('queued', 'none')
    await receive(sent, deliveryReport(sent))
    await world.db.query(`update inbound_message set received_at = now() - interval '25 h'`)
    await world.endLeases()
    await world.worker().runOnce()
    expect(await waiting()).toEqual([])
    expect(await told(sent)).toEqual([])
  })

  it('ends an attempt that got no answer, which is not repeated', async () => {
    const sent = await send('deferred', 'uncertain')
    await receive(sent, deliveryReport(sent))
    expect(await told(sent)).toEqual([['MAIL_BOUNCE', ['Ada@example.com']]])
    expect(await statuses(sent)).toEqual(['bounced', 'deferred'])
    const { rows } = await world.db.query('select n from sending_queue where ref_id = $1', [
      sent.refId,
    ])
    expect(rows).toEqual([{ n: 1 }])
  })
})

it('applies reports of many messages and tenants together, in any order', async () => {
  const sents = await Promise.all(Array.from({ length: 12 }, () => send()))
  for (const sent of [...sents, ...sents.toReversed()])
    await world.receive({
      raw: deliveryReport(sent, { recipient: 'ben@example.com', n: 1 }),
      routes: [[routeOf({ tenantId: sent.tenantId }), 'bounces@in.example.com']],
    })
  await Promise.all([world.worker().runOnce(), world.worker().runOnce(), world.worker().runOnce()])
  for (const sent of sents) expect(await told(sent)).toEqual([['MAIL_BOUNCE', ['ben@example.com']]])
  expect(await world.events()).toHaveLength(24)
})

describe('[contract 7.4] mail to the return path of a copy', () => {
  it('bounces its recipient once without a Message-ID, and is no incoming email', async () => {
    const sent = await send()
    for (const date of ['10:00', '11:00'])
      await returnTo(sent, deliveryReport(sent, { messageId: '', date }))
    await receive(sent, deliveryReport(sent))
    expect(await told(sent)).toEqual([['MAIL_BOUNCE', ['Ada@example.com']]])
    expect(await statuses(sent)).toEqual(['bounced', 'delivered'])
    expect(await suppressed(sent)).toEqual([['Ada@example.com', 'bounced']])
    // That to the address of before.
    expect(await world.events()).toHaveLength(1)
    const { rows } = await world.db.query(
      'select reported_at is not null as told from inbound_message where tenant_id = $1',
      [sent.tenantId],
    )
    expect(rows).toEqual([{ told: true }, { told: true }, { told: true }])
    expect((await world.db.query('select * from inbound_queue')).rows).toEqual([])
  })

  it('is about that copy only, and suppresses no other address', async () => {
    const sent = await send()
    const other = await send()
    const recipient = 'forwarded@elsewhere.example'
    await returnTo(sent, deliveryReport(other, { recipient }), { n: 1 })
    expect(await told(sent)).toEqual([['MAIL_BOUNCE', ['ben@example.com']]])
    expect(await told(other)).toEqual([])
    expect(await suppressed(sent)).toEqual([])
  })

  it('bounces its recipient by a text from a server without RFC 3464', async () => {
    const sent = await send()
    const body =
      'Your message could not be delivered.\r\n\r\n<ada@example.com>: 550 5.1.1 User unknown\r\n'
    const raw = Buffer.from(
      `From: MAILER-DAEMON@mx.example.net\r\nTo: x@in.example.com\r\nSubject: Undelivered Mail Returned to Sender\r\nMessage-ID: <${newUlid()}@mx.example.net>\r\n\r\n${body}`,
    )
    await returnTo(sent, raw)
    expect(await told(sent)).toEqual([['MAIL_BOUNCE', ['Ada@example.com']]])
  })

  it('bounces its recipient without naming a message or an address', async () => {
    const sent = await send()
    const raw = Buffer.from(
      'From: MAILER-DAEMON@mx.example.net\r\nTo: x@in.example.com\r\nSubject: failure notice\r\n\r\nYour message could not be delivered.\r\n',
    )
    await returnTo(sent, raw)
    expect(await told(sent)).toEqual([['MAIL_BOUNCE', ['Ada@example.com']]])
    expect(await suppressed(sent)).toEqual([])
    expect(await world.events()).toEqual([])
  })

  it('does nothing when it says that delivery is delayed, and is no incoming email', async () => {
    const sent = await send()
    await returnTo(
      sent,
      deliveryReport(sent, { action: 'delayed', status: '4.4.1', messageId: '' }),
    )
    expect(await told(sent)).toEqual([])
    expect(await statuses(sent)).toEqual(['delivered', 'delivered'])
    expect(await world.events()).toEqual([])
  })

  it('is a complaint of its recipient', async () => {
    const sent = await send()
    await returnTo(sent, complaint(sent, 0))
    expect(await told(sent)).toEqual([['MAIL_SPAM', ['Ada@example.com']]])
  })

  it.each([
    ['an answer that a machine gave', 'Auto-Submitted: auto-replied\r\n'],
    ['an answer that somebody wrote', ''],
  ])('is an incoming email where it is no report: %s', async (_what, header) => {
    const sent = await send()
    const raw = rawMail({ messageId: `<${newUlid()}@sender.example>`, header })
    await returnTo(sent, raw)
    expect(await told(sent)).toEqual([])
    expect(await world.events()).toMatchObject([{ details: { domain: 'in.example.com' } }])
  })

  it('is an incoming email where it was sent to someone else as well', async () => {
    const sent = await send()
    await returnTo(sent, deliveryReport(sent), { also: 'desk@in.example.com' })
    expect(await world.events()).toHaveLength(1)
    expect(await told(sent)).toEqual([['MAIL_BOUNCE', ['Ada@example.com']]])
  })

  it('does nothing with a token of another tenant', async () => {
    const sent = await send()
    const raw = deliveryReport(sent, { messageId: '' })
    await returnTo(sent, raw, { madeFor: newId('tn') })
    expect(await told(sent)).toEqual([])
    expect(await world.events()).toHaveLength(1)
  })

  it.each(['deferred', 'queued', 'sending'])('waits while its recipient is %s', async (status) => {
    const sent = await send(status, status === 'deferred' ? 'accepted' : 'none')
    await returnTo(sent, deliveryReport(sent, { messageId: '' }))
    expect(await told(sent)).toEqual([])
    expect((await world.db.query('select * from inbound_queue')).rows).toHaveLength(1)
    expect(await world.events()).toEqual([])
  })
})
