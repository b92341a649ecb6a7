import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import {
  accept,
  attemptsOf,
  drain,
  eventsOf,
  inShort,
  keyRing,
  queueOf,
  recipientsOf,
  TRACEPARENT,
  useSending,
} from '../../../test/sender.ts'
import { addMailer, sealPassword } from '../../../test/sending.ts'
import { createKeyRing } from '../../platform/secrets/index.ts'
import { createReturnPathTokens } from './return-path-tokens.ts'

const world = useSending()

/** A mailer on a server that follows the script, and one email through it until nothing is left. */
async function sendOne(
  script: Parameters<typeof world.serve>[0],
  change: Parameters<typeof accept>[1] = {},
  mailer: Parameters<typeof addMailer>[1] = {},
) {
  const { db } = world
  const server = await world.serve(script)
  const { mailerId } = await addMailer(db, { port: server.port, ...mailer })
  const refId = await accept(db, change)
  await drain(db, world.sender())
  const events = await eventsOf(db)
  const [recipient] = await recipientsOf(db, refId)
  return { server, refId, mailerId, events, shorts: events.map(inShort), recipient }
}

describe('an accepted mail', () => {
  it('[6.5] ends in MAIL_DELIVERED with every documented field', async () => {
    const args = { custom_args: { order: 7 } }
    const { server, refId, mailerId, events, recipient } = await sendOne(undefined, args)
    const messageId = `<${refId}.0@example.com>`
    expect(events).toEqual([
      {
        event: 'MAIL_DELIVERED',
        success: true,
        details: {
          ref_id: refId,
          mailer_id: mailerId,
          email: ['ada@example.com'],
          custom_args: { order: 7 },
          message_id: messageId,
          thread_id: '',
          tracking: {
            time: '',
            ip: '',
            user_agent: '',
            browser_name: '',
            browser_version: '',
            os: '',
            device_type: '',
            platform: '',
            country: '',
            city: '',
            region: '',
            time_zone: '',
            bot: false,
          },
          failed_reason: '',
          event_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
        },
      },
    ])
    expect(server.messages).toMatchObject([
      { from: 'news@example.com', recipients: ['ada@example.com'], messageId },
    ])
    expect(recipient).toEqual({
      email: 'ada@example.com',
      status: 'delivered',
      attempts: 1,
      failed_reason: '',
      message_id: messageId,
      delivered: true,
    })
    expect(await attemptsOf(world.db, refId)).toMatchObject([
      { attempt: 1, max_attempts: 5, outcome: 'accepted', retry_scheduled: false, has_next: false },
    ])
    const { rows } = await world.db.query('select traceparent from webhooks_event')
    expect(rows).toEqual([{ traceparent: TRACEPARENT }])
  })

  it.each([
    ['the first', undefined, 0],
    ['a later', { 'ada@example.com': ['451 4.3.0 later', 'ok'] }, 2],
  ])('at %s attempt is told by its recipient, or by rows', async (_, script, rowsOfAttempts) => {
    const { refId } = await sendOne(script)
    const { rows } = await world.db.query('select from sending_attempt')
    expect(rows).toHaveLength(rowsOfAttempts)
    const attempts = await attemptsOf(world.db, refId)
    expect(attempts).toHaveLength(Math.max(1, rowsOfAttempts))
    expect(attempts.at(-1)).toMatchObject({ attempt: attempts.length, outcome: 'accepted' })
  })

  it('passes an envelope id where the server supports it (RFC 3461 §4.4)', async () => {
    const { db } = world
    const to = [{ email: 'ada@example.com' }, { email: 'ben@example.com' }]
    for (const offered of [['DSN'], []]) {
      const server = await world.serve(undefined, { extensions: ['PIPELINING', ...offered] })
      const { mailerId } = await addMailer(db, { port: server.port })
      const refId = await accept(db, { to, mailer_id: mailerId })
      await drain(db, world.sender())
      const commands = server.connections.flatMap((one) => one.commands)
      const named = offered.length > 0 ? [` ENVID=${refId}.0`, ` ENVID=${refId}.1`] : ['', '']
      expect(commands.filter((line) => line.startsWith('MAIL')).toSorted()).toEqual(
        named.map((parameter) => `MAIL FROM:<news@example.com>${parameter}`),
      )
      expect(commands.join('\n')).not.toMatch(/NOTIFY|RET=/)
    }
  })

  it('[7.4] has a return path of its own for each recipient where the mailer has one', async () => {
    const { db } = world
    const server = await world.serve()
    const returnPath = 'bounces@in.example.com'
    const { mailerId, tenantId } = await addMailer(db, { port: server.port, returnPath })
    const to = [{ email: 'ada@example.com' }, { email: 'ben@example.com' }]
    const refId = await accept(db, { to, mailer_id: mailerId })
    await drain(db, world.sender())
    const tokens = createReturnPathTokens(keyRing)
    const places = server.messages.map(({ from, recipients, raw }) => {
      expect(from).toMatch(/^bounces\+[a-z2-7]{50}@in\.example\.com$/)
      expect(raw.toString()).toMatch(/^From: .*news@example\.com/m)
      return [recipients[0], tokens.read(tenantId, from.slice(0, from.indexOf('@')))]
    })
    expect(places.toSorted()).toEqual([
      ['ada@example.com', { refId, n: 0 }],
      ['ben@example.com', { refId, n: 1 }],
    ])
  })

  it('[2.4] reports null as custom_args where none were given', async () => {
    const { events } = await sendOne(undefined)
    expect(events[0]?.details.custom_args).toBeNull()
  })
})

describe('[6.4] a failed attempt', () => {
  it('[6.4.1 6.4.2] is reported with its number and budget, and the retry delivers', async () => {
    const script = { 'ada@example.com': ['452-4.2.2 over\n452 4.2.2 quota', 'ok'] }
    const { refId, mailerId, events, recipient } = await sendOne(script)
    expect(events.map(inShort)).toEqual(['SMTP_ERROR 1 retry', 'MAIL_DELIVERED'])
    expect(events[0]?.success).toBe(false)
    expect(events[0]?.details).toEqual({
      tracking: events[1]?.details.tracking,
      event_at: expect.any(String),
      ref_id: refId,
      mailer_id: mailerId,
      email: ['ada@example.com'],
      custom_args: null,
      message_id: `<${refId}.0@example.com>`,
      thread_id: '',
      failed_reason: "The recipient's mailbox is full",
      attempt: 1,
      max_attempts: 5,
      retry_scheduled: true,
      provider_error: '452-4.2.2 over 452 4.2.2 quota',
    })
    expect(recipient).toMatchObject({ status: 'delivered', attempts: 2, failed_reason: '' })
    expect(await attemptsOf(world.db, refId)).toMatchObject([
      { attempt: 1, outcome: 'deferred', retry_scheduled: true, has_next: true },
      { attempt: 2, outcome: 'accepted', retry_scheduled: false, has_next: false },
    ])
  })

  it('[6.4.4] is final at attempt 1 when the failure is permanent', async () => {
    const { refId, shorts, recipient } = await sendOne({
      'ada@example.com': ['550 5.1.1 no such user'],
    })
    expect(shorts).toEqual(['SMTP_ERROR 1 final'])
    expect(recipient).toMatchObject({
      status: 'failed',
      attempts: 1,
      failed_reason: 'The recipient address does not exist',
      delivered: false,
    })
    expect(await attemptsOf(world.db, refId)).toMatchObject([
      { outcome: 'failed', category: 'invalid_recipient', has_next: false },
    ])
  })

  it('[6.4.4] is final when it was the last of the budget', async () => {
    const settings = { settings: { max_attempts: 3 } }
    const { server, shorts } = await sendOne({ 'ada@example.com': ['451 4.3.0 later'] }, settings)
    expect(shorts).toEqual(['SMTP_ERROR 1 retry', 'SMTP_ERROR 2 retry', 'SMTP_ERROR 3 final'])
    expect(server.accepted).toBe(0)
  })

  it('[6.4.5] has the raw text as its reason where the text is unknown', async () => {
    const { events } = await sendOne({ 'ada@example.com': ['599 xyzzy'] })
    expect(events[0]?.details).toMatchObject({
      failed_reason: '599 xyzzy',
      provider_error: '599 xyzzy',
    })
  })

  it.each([
    'data: fin',
    'data: rst',
    'body: rst',
    'rcpt: rst',
    'data: 421 4.3.2 going down >> fin',
  ])('is retried when the connection ends before the end of the message: %s', async (text) => {
    const { server, events, shorts } = await sendOne({ 'ada@example.com': [text, 'ok'] })
    expect(shorts).toEqual(['SMTP_ERROR 1 retry', 'MAIL_DELIVERED'])
    expect(events[0]?.details.provider_error).not.toBe('')
    expect(server.transactions).toHaveLength(1)
  })

  it('counts as an attempt when a mailer cannot reach its server', async () => {
    const server = await world.serve()
    await server.close()
    await addMailer(world.db, { port: server.port })
    await accept(world.db, { settings: { max_attempts: 2 } })
    await drain(world.db, world.sender())
    const events = await eventsOf(world.db)
    expect(events.map(inShort)).toEqual(['SMTP_ERROR 1 retry', 'SMTP_ERROR 2 final'])
    expect(events[0]?.details).toMatchObject({
      failed_reason: 'The connection to the mail server failed',
      provider_error: expect.stringContaining('ECONNREFUSED'),
    })
  })
})

describe('a reused connection that has closed', () => {
  it('does not count as an attempt: the mail is sent over a new connection', async () => {
    const { db } = world
    const used = new Set<number>()
    const server = await world.serve(({ phase, connection }) => {
      if (phase === 'dot') used.add(connection)
      return phase === 'mail' && used.has(connection) ? { ending: 'fin' } : undefined
    })
    await addMailer(db, { port: server.port, limits: { connections: 1 } })
    await accept(db, { to: [{ email: 'ada@example.com' }, { email: 'bob@example.com' }] })
    await drain(db, world.sender())
    expect((await eventsOf(db)).map(inShort)).toEqual(['MAIL_DELIVERED', 'MAIL_DELIVERED'])
    expect(server.connections).toHaveLength(2)
  })
})

describe('the counter of interruptions', () => {
  it('is zero again at the next attempt', async () => {
    const { db } = world
    const server = await world.serve({ 'ada@example.com': ['451 4.3.0 later'] })
    await addMailer(db, { port: server.port })
    await accept(db)
    await db.query('update sending_queue set interrupted = 1')
    await world.sender({ retryScheduleMs: [3_600_000] }).runOnce()
    expect(await queueOf(db)).toMatchObject([{ phase: 'waiting', attempt: 2, interrupted: 0 }])
  })
})

describe('an uncertain attempt', () => {
  const cut = { 'ada@example.com': ['dot: rst', 'ok'] }

  it('says that the mail may have been delivered, and is repeated under at_least_once', async () => {
    const { refId, server, events, shorts } = await sendOne(cut)
    expect(shorts).toEqual(['SMTP_ERROR 1 retry', 'MAIL_DELIVERED'])
    expect(events[0]?.details.failed_reason).toMatch(/may have been delivered/)
    expect(await attemptsOf(world.db, refId)).toMatchObject([
      { outcome: 'uncertain' },
      { outcome: 'accepted' },
    ])
    const [first, second] = server.transactions
    expect(second?.messageId).toBe(first?.messageId)
  })

  it('is final under at_most_once', async () => {
    const { server, shorts, recipient } = await sendOne(cut, {}, { uncertain: 'at_most_once' })
    expect(shorts).toEqual(['SMTP_ERROR 1 final'])
    expect(recipient).toMatchObject({ status: 'failed' })
    expect(server.transactions).toHaveLength(1)
  })

  it('lasts from its first claim to the time when it was found', async () => {
    const { db } = world
    const { mailerId } = await addMailer(db)
    await accept(db, { mailer_id: mailerId })
    await db.query(
      `update sending_queue
          set phase = 'dot', due_at = now(), started_at = now() - interval '1 hour'`,
    )
    await world.sender({ retryScheduleMs: [3_600_000] }).runOnce()
    const { rows } = await db.query(
      `select outcome, finished_at - started_at >= interval '1 hour' as is_whole
         from sending_attempt`,
    )
    expect(rows).toEqual([{ outcome: 'uncertain', is_whole: true }])
  })

  it('does not occur when the server refused after the end of the message', async () => {
    const { refId } = await sendOne(
      { 'ada@example.com': ['dot: 554 5.7.1 spam'] },
      {},
      { uncertain: 'at_most_once' },
    )
    expect(await attemptsOf(world.db, refId)).toMatchObject([{ outcome: 'failed', attempt: 1 }])
  })

  it('is not assumed for a refused mail, which is retried under at_most_once', async () => {
    const { shorts } = await sendOne(
      { 'ada@example.com': ['450 4.2.0 later', 'dot: 451 4.3.0 later', 'ok'] },
      {},
      { uncertain: 'at_most_once' },
    )
    expect(shorts).toEqual(['SMTP_ERROR 1 retry', 'SMTP_ERROR 2 retry', 'MAIL_DELIVERED'])
  })
})

describe('the message', () => {
  it('has the same bytes in every attempt', async () => {
    const { server } = await sendOne(
      { 'ada@example.com': ['dot: 451 4.3.0 a', 'dot: 451 4.3.0 b', 'ok'] },
      {
        content: [
          { type: 'text/plain', value: '.dots\n..\nü' },
          { type: 'text/html', value: '<p>ü</p>' },
        ],
        attachments: [{ filename: 'ü.txt', content: 'aGk=' }],
      },
    )
    const [first, ...others] = server.transactions.map((one) => one.raw?.toString('latin1'))
    expect(others).toEqual([first, first])
  })

  it('is sent separately to each recipient, with separate outcomes and an invisible bcc', async () => {
    const { db } = world
    const server = await world.serve({
      'bob@example.com': ['550 5.1.1 unknown'],
      'carol@example.com': ['450 4.2.0 later', 'ok'],
    })
    await addMailer(db, { port: server.port })
    const refId = await accept(db, {
      to: [{ email: 'ada@example.com' }, { email: 'bob@example.com' }],
      cc: [{ email: 'carol@example.com', name: 'Carol' }],
      bcc: [{ email: 'hidden@example.com', name: 'Hidden' }],
    })
    await drain(db, world.sender())
    expect(await recipientsOf(db, refId)).toMatchObject([
      { email: 'ada@example.com', status: 'delivered', attempts: 1 },
      { email: 'bob@example.com', status: 'failed', attempts: 1 },
      { email: 'carol@example.com', status: 'delivered', attempts: 2 },
      { email: 'hidden@example.com', status: 'delivered', attempts: 1 },
    ])
    const events = await eventsOf(db)
    const ofEach = events.map((one) => `${one.details.email.join()} ${inShort(one)}`)
    expect(ofEach.toSorted()).toEqual([
      'ada@example.com MAIL_DELIVERED',
      'bob@example.com SMTP_ERROR 1 final',
      'carol@example.com MAIL_DELIVERED',
      'carol@example.com SMTP_ERROR 1 retry',
      'hidden@example.com MAIL_DELIVERED',
    ])
    expect(new Set(events.map((one) => one.details.event_at)).size).toBe(events.length)
    expect(server.messages.map((one) => one.recipients).toSorted()).toEqual([
      ['ada@example.com'],
      ['carol@example.com'],
      ['hidden@example.com'],
    ])
    expect(new Set(server.messages.map((one) => one.messageId)).size).toBe(3)
    for (const { raw } of server.messages) {
      const text = raw?.toString('latin1') ?? ''
      expect(text).toMatch(/^To: ada@example.com, bob@example.com\r$/m)
      expect(text).toMatch(/^Cc: Carol <carol@example.com>\r$/m)
      expect(text).not.toMatch(/hidden/i)
    }
  })

  it('needs SMTPUTF8 when an address in its headers needs it', async () => {
    const { db } = world
    const server = await world.serve(undefined, { extensions: ['8BITMIME'] })
    await addMailer(db, { port: server.port })
    await accept(db, { to: [{ email: 'ada@example.com' }], cc: [{ email: 'jörg@example.com' }] })
    await accept(db, { to: [{ email: 'ada@bücher.example' }], subject: 'Grüße' })
    await drain(db, world.sender())
    expect((await eventsOf(db)).map(inShort).toSorted()).toEqual([
      'MAIL_DELIVERED',
      'SMTP_ERROR 1 final',
      'SMTP_ERROR 1 final',
    ])
    expect(server.messages.map((one) => one.recipients)).toEqual([['ada@xn--bcher-kva.example']])
  })
})

describe('[6.4.6] a failure before the message is built', () => {
  it('is final for every recipient when the mailer was deleted, with an empty message_id', async () => {
    const { db } = world
    const { mailerId } = await addMailer(db)
    await accept(db, { cc: [{ email: 'bob@example.com' }] })
    await db.query('delete from mailers_mailer where mailer_id = $1', [mailerId])
    await drain(db, world.sender())
    const events = await eventsOf(db)
    expect(events.map(inShort)).toEqual(['SMTP_ERROR 1 final', 'SMTP_ERROR 1 final'])
    for (const { details } of events) {
      expect(details).toMatchObject({
        message_id: '',
        thread_id: '',
        mailer_id: mailerId,
        attempt: 1,
        max_attempts: 5,
        failed_reason: 'Mailer configuration could not be loaded',
        provider_error: `mailer ${mailerId} not found`,
      })
    }
  })

  it('is retried when this process cannot decrypt the password', async () => {
    const { db } = world
    const server = await world.serve(undefined, { auth: { users: { news: 'right' } } })
    const key = { tenantId: 'tn_a', mailerId: 'smtp_sealed' }
    await addMailer(db, { ...key, port: server.port })
    await db.query('update mailers_mailer set username = $2, secret = $3 where mailer_id = $1', [
      key.mailerId,
      'news',
      sealPassword(keyRing, key, 'right'),
    ])
    await accept(db)
    const other = createKeyRing(`o:${randomBytes(32).toString('base64')}`)
    await world.sender({ keyRing: other, retryScheduleMs: [0] }).runOnce()
    await drain(db, world.sender())
    const events = await eventsOf(db)
    expect(events.map(inShort)).toEqual(['SMTP_ERROR 1 retry', 'MAIL_DELIVERED'])
    expect(events[0]?.details).toMatchObject({
      message_id: '',
      provider_error: `password of mailer ${key.mailerId} cannot be opened`,
    })
  })
})

describe('an inactive mailer', () => {
  it.each(['deactivated', 'disabled'])(
    'keeps its mail waiting without an attempt: %s',
    async (state) => {
      const { db } = world
      const server = await world.serve()
      const { mailerId } = await addMailer(db, { port: server.port })
      await accept(db)
      await db.query('update mailers_mailer set state = $2 where mailer_id = $1', [mailerId, state])
      await world.sender().runOnce()
      expect(await queueOf(db)).toMatchObject([{ phase: 'waiting', attempt: 1 }])
      expect(await eventsOf(db)).toEqual([])
      expect(server.connections).toEqual([])
      await db.query(`update mailers_mailer set state = 'active' where mailer_id = $1`, [mailerId])
      await db.query('update sending_queue set due_at = now()')
      await drain(db, world.sender())
      expect((await eventsOf(db)).map(inShort)).toEqual(['MAIL_DELIVERED'])
    },
  )

  it('lets its waiting mail expire', async () => {
    const { db } = world
    const { mailerId } = await addMailer(db)
    await accept(db)
    await db.query(`update mailers_mailer set state = 'disabled' where mailer_id = $1`, [mailerId])
    await db.query(`update sending_queue set expires_at = now()`)
    await drain(db, world.sender())
    expect((await eventsOf(db)).map(inShort)).toEqual(['SMTP_ERROR 1 final'])
  })
})

describe('expiry', () => {
  it('is a final failed attempt with the next number and no provider_error', async () => {
    const { db } = world
    const server = await world.serve({ 'ada@example.com': ['451 4.3.0 later'] })
    await addMailer(db, { port: server.port })
    const refId = await accept(db, { settings: { max_attempts: 2 } })
    await world.sender({ retryScheduleMs: [3_600_000] }).runOnce()
    await db.query('update sending_queue set expires_at = now(), due_at = now()')
    await drain(db, world.sender())
    const events = await eventsOf(db)
    expect(events.map(inShort)).toEqual(['SMTP_ERROR 1 retry', 'SMTP_ERROR 2 final'])
    expect(events[1]?.details).toMatchObject({
      failed_reason: 'Message expired before it could be sent',
      message_id: `<${refId}.0@example.com>`,
      max_attempts: 2,
    })
    expect(events[1]?.details).not.toHaveProperty('provider_error')
    expect(await recipientsOf(db, refId)).toMatchObject([{ status: 'expired', attempts: 2 }])
    expect(server.transactions).toEqual([])
  })

  it('ends the wait for the next attempt', async () => {
    const { db } = world
    const server = await world.serve({ 'ada@example.com': ['451 4.3.0 later'] })
    await addMailer(db, { port: server.port })
    await accept(db, { settings: { expires_in: '1h' } })
    await world.sender({ retryScheduleMs: [86_400_000] }).runOnce()
    const { rows } = await db.query(
      `select q.due_at = q.expires_at as is_cut, a.next_attempt_at = q.due_at as is_told
         from sending_queue q join sending_attempt a using (tenant_id, ref_id, n)`,
    )
    expect(rows).toEqual([{ is_cut: true, is_told: true }])
  })
})
