/**
 * Mail of sending domains, by fakes of the providers as strict as their documents
 * (docs/reference/domains.md#relay-requests).
 */
import { randomBytes } from 'node:crypto'
import {
  createSendGridServer,
  createSparkPostServer,
  headerOf,
  type PeerScript,
  type RelayedMail,
  type ScriptedAnswer,
} from '@postrider/testkit'
import { afterEach, describe, expect, it } from 'vitest'
import {
  accept,
  attemptsOf,
  drain,
  eventsOf,
  inShort,
  queueOf,
  recipientsOf,
  runOutClaims,
  useSending,
} from '../../../test/sender.ts'
import { addDomainMailer, trackingUrls } from '../../../test/sending.ts'
import { noteRelayChanged } from '../../mailers/index.ts'
import { bucketOf, DatabaseUnavailableError } from '../../platform/db/index.ts'
import { createLogger } from '../../platform/log.ts'

const world = useSending()
const LATER = [3_600_000]
const ADA = { to: [{ email: 'ada@example.net', name: 'Ada' }] }
const UNAUTHORIZED = { status: 401, json: { errors: [{ message: 'Unauthorized.' }] } }
const TOO_MANY = { status: 429, json: { errors: [{ message: 'Too many requests' }] } }
const AWAY = { status: 503, json: { errors: [{ message: 'Try again' }] } }

const closings: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closings.splice(0)) await close()
})

interface Provider {
  readonly apiBase: string
  readonly apiKey: string
  readonly mails: readonly RelayedMail[]
  readonly requests: readonly { readonly path: string }[]
  readonly domains: { add(domain: string): unknown }
  setScript(script: PeerScript | undefined): void
  setApiKey(apiKey: string): void
  cutBodies(count: number): void
  waitUntil(isMet: () => boolean): Promise<void>
  close(): Promise<void>
}

const PROVIDERS = { sparkpost: createSparkPostServer, sendgrid: createSendGridServer } as const
type Kind = keyof typeof PROVIDERS

/** A provider, and `example.com` as a domain that it knows. */
async function setUp(kind: Kind = 'sparkpost', answers: readonly ScriptedAnswer[] = []) {
  const provider: Provider = await PROVIDERS[kind]()
  closings.push(() => provider.close())
  provider.domains.add('example.com')
  const left = [...answers]
  provider.setScript(() => left.shift())
  const { apiBase, apiKey } = provider
  const mailer = await addDomainMailer(world.db, { relay: kind, apiBase, apiKey })
  return { provider, ...mailer }
}

async function sendOne(
  kind: Kind,
  answers: readonly ScriptedAnswer[],
  change: Parameters<typeof accept>[1] = ADA,
) {
  const set = await setUp(kind, answers)
  const refId = await accept(world.db, change)
  await drain(world.db, world.sender())
  const [recipient] = await recipientsOf(world.db, refId)
  return { ...set, refId, recipient, shorts: (await eventsOf(world.db)).map(inShort) }
}

async function stateOf(mailerId: string): Promise<unknown> {
  const { rows } = await world.db.query<{ state: string }>(
    'select state from mailers_mailer where mailer_id = $1',
    [mailerId],
  )
  return rows[0]?.state
}

describe.each(['sparkpost', 'sendgrid'] as const)('a mail by %s', (kind) => {
  it('[3.4] is `sent` when the provider takes it, with the id of the provider and no event', async () => {
    const { provider, refId, mailerId, recipient, shorts } = await sendOne(kind, [])
    const [mail] = provider.mails
    expect(recipient).toEqual({
      email: 'ada@example.net',
      status: 'sent',
      attempts: 1,
      failed_reason: '',
      message_id: mail?.id,
      delivered: false,
    })
    expect(mail?.id).toMatch(/./)
    expect(shorts).toEqual([])
    expect(await attemptsOf(world.db, refId)).toMatchObject([
      { attempt: 1, outcome: 'accepted', failed_reason: '', retry_scheduled: false },
    ])
    expect(mail?.meta).toMatchObject({ postrider_ref: `${refId}.0` })
    const { rows } = await world.db.query(
      `select e.* from platform_counter_change c,
              json_to_recordset(c.counts) as e (subject text, name text, n integer)
        where e.subject <> '' order by name`,
    )
    const counted = (name: string) => ({ subject: mailerId, name, n: 1 })
    expect(rows).toEqual([counted('accepted'), counted('sent')])
  })

  it('has all the fields that were asked for, in one request for each recipient', async () => {
    const change = {
      from: { email: 'News@example.com', name: 'News, Ünited' },
      to: [{ email: 'ada@example.net', name: 'Ada' }, { email: 'bob@example.net' }],
      cc: [{ email: 'carol@example.net', name: 'Carol' }],
      bcc: [{ email: 'hidden@example.net', name: 'Hidden' }],
      replyTo: { email: 'reply@example.com' },
      subject: 'Grüße',
      content: [
        { type: 'text/plain', value: 'Hallo ü' },
        { type: 'text/html', value: '<p>Hallo ü <img src="cid:logo"></p>' },
      ],
      headers: { 'X-Own': 'mine' },
      attachments: [
        { filename: 'a.txt', content: 'aGk=' },
        { filename: 'logo.png', content: 'aGk=', type: 'image/png', content_id: 'logo' },
      ],
      campaign_id: 'spring',
    } satisfies Parameters<typeof accept>[1]
    const { provider, refId } = await sendOne(kind, [], change)
    const mails = [...provider.mails].sort((a, b) => a.to.localeCompare(b.to))
    expect(mails.map(({ to }) => to)).toEqual([
      'ada@example.net',
      'bob@example.net',
      'carol@example.net',
      'hidden@example.net',
    ])
    expect(provider.requests).toHaveLength(4)
    for (const [n, mail] of mails.entries()) {
      expect(mail).toMatchObject({
        from: { email: 'News@example.com', name: 'News, Ünited' },
        replyTo: expect.stringContaining('reply@example.com'),
        subject: 'Grüße',
        text: 'Hallo ü',
        html: '<p>Hallo ü <img src="cid:logo"></p>',
        meta: { postrider_ref: `${refId}.${n}` },
      })
      expect(headerOf(mail, 'X-Own')).toBe('mine')
      expect(headerOf(mail, 'Message-ID')).toBe(`<${refId}.${n}@example.com>`)
      if (n < 3) expect(JSON.stringify(mail.headers)).not.toContain('idden')
      expect(mail.attachments).toMatchObject([
        { filename: 'a.txt', isInline: false },
        { isInline: true, contentId: 'logo' },
      ])
    }
  })

  it('[RFC 8058] has a tracking pixel, links and an unsubscribe address of its own for each recipient', async () => {
    const { provider, refId } = await sendOne(kind, [], {
      to: [{ email: 'ada@example.net' }, { email: 'bob@example.net' }],
      content: [
        {
          type: 'text/html',
          value: '<p><a href="https://a.example/">here</a> <a href="%unsubscribe_url%">no</a></p>',
        },
      ],
      settings: { open_tracking: true, click_tracking: true, unsubscribe: true },
    })
    const mails = [...provider.mails].sort((a, b) => a.to.localeCompare(b.to))
    expect(mails).toHaveLength(2)
    for (const [n, mail] of mails.entries()) {
      const who = { tenantId: 'tn_a', refId, n }
      const page = trackingUrls.unsubscribeUrl(who)
      expect(mail.html).toContain(`<a href="${trackingUrls.clickUrl(who, 0)}">here</a>`)
      expect(mail.html).toContain(`<a href="${page}">no</a>`)
      expect(mail.html).toContain(`<img src="${trackingUrls.openUrl(who)}"`)
      expect(mail.text).toContain('https://a.example/')
      expect(mail.text).toContain(page)
      // SparkPost always drops the header.
      if (kind === 'sendgrid') {
        expect(headerOf(mail, 'List-Unsubscribe-Post')).toBe('List-Unsubscribe=One-Click')
        expect(headerOf(mail, 'List-Unsubscribe')).toBe(`<${page}>`)
      }
      const other = trackingUrls.openUrl({ ...who, n: 1 - n })
      expect(JSON.stringify(mail)).not.toContain(other)
    }
  })

  it('records a refusal as an attempt without a message_id, and retries where a retry can help', async () => {
    const { refId, recipient, shorts, provider } = await sendOne(kind, [AWAY])
    expect(shorts).toEqual(['SMTP_ERROR 1 retry'])
    const [event] = await eventsOf(world.db)
    expect(event?.details).toMatchObject({
      ref_id: refId,
      message_id: '',
      attempt: 1,
      max_attempts: 5,
      retry_scheduled: true,
      failed_reason: 'The mail server has a temporary problem',
      provider_error: expect.stringContaining('Try again'),
    })
    expect(recipient).toMatchObject({ status: 'sent', attempts: 2 })
    expect(provider.mails).toHaveLength(1)
  })

  it('[3.4, 5] deactivates the domain once, with evidence, when its key is refused twice', async () => {
    const { provider, mailerId, tenantId } = await setUp(kind)
    const { apiKey } = provider
    provider.setApiKey('another')
    const refIds = [await accept(world.db, ADA), await accept(world.db, ADA)]
    const sender = world.sender()
    for (let i = 0; i < 4; i++) await sender.runOnce()
    const events = await eventsOf(world.db)
    expect(events.map(inShort).sort()).toEqual(['MAILER_DEACTIVATED', 'SMTP_ERROR 1 final'])
    const deactivated = events.find((one) => inShort(one) === 'MAILER_DEACTIVATED')
    expect(deactivated).toEqual({
      event: 'MAILER_DEACTIVATED',
      success: false,
      details: {
        mailer_id: mailerId,
        config_type: 'domain',
        failed_reason: 'provider_auth_error',
        provider_error: expect.stringContaining('401'),
      },
    })
    expect(JSON.stringify(events)).not.toContain(apiKey)
    expect(await stateOf(mailerId)).toBe('deactivated')
    const statuses = (await Promise.all(refIds.map((id) => recipientsOf(world.db, id)))).flat()
    expect(statuses.map(({ status }) => status).sort()).toEqual(['failed', 'queued'])
    expect(await queueOf(world.db)).toMatchObject([{ phase: 'waiting', attempt: 1 }])
    await expect(accept(world.db, { ...ADA, mailer_id: mailerId }, tenantId)).rejects.toMatchObject(
      { code: 'mailer_inactive' },
    )
  })
})

it('logs the HTTP status of a provider not as an SMTP reply code', async () => {
  await setUp('sparkpost', [AWAY])
  const lines: Record<string, unknown>[] = []
  const destination = { write: (text: string) => void lines.push(JSON.parse(text)) }
  await accept(world.db, ADA)
  await world.sender({ log: createLogger({ level: 'info', destination }) }).runOnce()
  expect(lines.find(({ msg }) => msg === 'attempt.finished')).toMatchObject({
    reply: expect.stringMatching(/^503 /),
    classified: { by: 'words' },
  })
})

describe('a rate limit of the provider', () => {
  it('pauses requests for as long as the provider asks; the pause is no attempt', async () => {
    const { provider } = await setUp('sparkpost', [TOO_MANY])
    await accept(world.db, ADA)
    const sender = world.sender()
    await sender.runOnce()
    await accept(world.db, ADA)
    await sender.runOnce()
    expect(provider.requests).toHaveLength(1)
    expect(sender.counts()).toMatchObject({ paused: 1, slowed: 1 })
    expect((await eventsOf(world.db)).map(inShort)).toEqual(['SMTP_ERROR 1 retry'])
  })

  it('the limits of the domain bound the requests to its provider', async () => {
    const { provider, mailerId } = await setUp()
    await world.db.query(`update mailers_mailer set limits = '{"per_day": 2}'`)
    for (let i = 0; i < 3; i++) await accept(world.db, { ...ADA, mailer_id: mailerId })
    await world.sender().runOnce()
    expect(provider.requests).toHaveLength(2)
    expect(await queueOf(world.db)).toMatchObject([{ attempt: 1 }])
  })
})

describe('a missing answer', () => {
  it.each<[string, ScriptedAnswer]>([
    ['the connection is reset', { ending: 'rst' }],
    ['the connection is closed', { ending: 'fin' }],
    ['the answer ends early', { status: 200, body: '{"results"' }],
  ])('makes the attempt uncertain: %s', async (_, answer) => {
    const { refId, recipient, shorts } = await sendOne('sparkpost', [
      { ...answer, isCarriedOut: true },
    ])
    expect(shorts).toEqual(['SMTP_ERROR 1 retry'])
    const [event] = await eventsOf(world.db)
    expect(event?.details.failed_reason).toMatch(/may have been delivered/)
    expect(event?.details.message_id).toBe('')
    expect(await attemptsOf(world.db, refId)).toMatchObject([
      { attempt: 1, outcome: 'uncertain' },
      { attempt: 2, outcome: 'accepted' },
    ])
    expect(recipient).toMatchObject({ status: 'sent', attempts: 2 })
  })

  it.each<[string, ScriptedAnswer]>([
    ['begins', { ending: 'hang' }],
    ['ends', { status: 200, body: '{"results"', ending: 'hang' }],
  ])('makes the attempt uncertain where it never %s', async (_, answer) => {
    await setUp('sparkpost', [{ ...answer, isCarriedOut: true }])
    const refId = await accept(world.db, ADA)
    await world.sender({ retryScheduleMs: LATER, timeoutMs: 500 }).runOnce()
    expect(await attemptsOf(world.db, refId)).toMatchObject([{ attempt: 1, outcome: 'uncertain' }])
  })

  it('fails the recipient for good under at_most_once', async () => {
    const { provider } = await setUp('sparkpost', [{ ending: 'rst', isCarriedOut: true }])
    await world.db.query(`update mailers_mailer set uncertain = 'at_most_once'`)
    const refId = await accept(world.db, ADA)
    await drain(world.db, world.sender())
    expect((await eventsOf(world.db)).map(inShort)).toEqual(['SMTP_ERROR 1 final'])
    expect(await recipientsOf(world.db, refId)).toMatchObject([{ status: 'failed' }])
    expect(provider.mails).toHaveLength(1)
  })

  it('retries under at_most_once when nothing was listening', async () => {
    const { provider } = await setUp()
    await world.db.query(`update mailers_mailer set uncertain = 'at_most_once'`)
    await provider.close()
    const refId = await accept(world.db, ADA)
    await world.sender({ retryScheduleMs: LATER }).runOnce()
    expect((await eventsOf(world.db)).map(inShort)).toEqual(['SMTP_ERROR 1 retry'])
    expect(await attemptsOf(world.db, refId)).toMatchObject([
      { outcome: 'deferred', category: 'network' },
    ])
  })
})

describe('a refused key', () => {
  it('sends the mail when the second try within the attempt succeeds', async () => {
    const { recipient, shorts, provider, mailerId } = await sendOne('sparkpost', [UNAUTHORIZED])
    expect(shorts).toEqual([])
    expect(recipient).toMatchObject({ status: 'sent', attempts: 1 })
    expect(provider.requests).toHaveLength(2)
    expect(await stateOf(mailerId)).toBe('active')
  })

  it('is tried once more by one attempt; other mail waits without an event', async () => {
    const { provider, mailerId } = await setUp()
    const { apiKey } = provider
    provider.setApiKey('another')
    for (let i = 0; i < 12; i++) await accept(world.db, ADA)
    const sender = world.sender()
    await sender.runOnce()
    await sender.runOnce()
    expect((await eventsOf(world.db)).map(inShort).sort()).toEqual([
      'MAILER_DEACTIVATED',
      'SMTP_ERROR 1 final',
    ])
    expect(provider.requests.length).toBeLessThanOrEqual(12 + 1)
    const waiting = await queueOf(world.db)
    expect(waiting).toHaveLength(11)
    expect(waiting.every(({ phase, attempt }) => phase === 'waiting' && attempt === 1)).toBe(true)
    // What the new key is for, as PUT /v1/relay does it.
    provider.setApiKey(apiKey)
    await world.db.transaction((tx) =>
      noteRelayChanged(tx, { tenantId: 'tn_a', kind: 'sparkpost' }),
    )
    sender.wakeups.wake([
      { tenantId: 'tn_a', mailerId, bucket: bucketOf(mailerId), isChanged: true },
    ])
    await world.db.query('update sending_queue set due_at = now()')
    await drain(world.db, world.sender())
    expect(provider.mails).toHaveLength(11)
  })

  it('deactivates nothing when the account was changed meanwhile, and sends the mail', async () => {
    const { provider, mailerId } = await setUp()
    const gate = Promise.withResolvers<void>()
    provider.setScript(({ n }) => (n <= 2 ? { ...UNAUTHORIZED, after: gate.promise } : undefined))
    const refId = await accept(world.db, ADA)
    const sender = world.sender()
    const running = sender.runOnce()
    await provider.waitUntil(() => provider.requests.length === 1)
    await world.db.query('update mailers_mailer set config_version = config_version + 1')
    await world.db.query('update relays_account set config_version = config_version + 1')
    gate.resolve()
    await running
    expect(await stateOf(mailerId)).toBe('active')
    sender.wakeups.wake([
      { tenantId: 'tn_a', mailerId, bucket: bucketOf(mailerId), isChanged: true },
    ])
    await drain(world.db, sender)
    expect(await recipientsOf(world.db, refId)).toMatchObject([{ status: 'sent', attempts: 1 }])
    expect(await eventsOf(world.db)).toEqual([])
  })
})

it('retries when this process cannot decrypt the key', async () => {
  const { provider } = await setUp()
  await world.db.query(
    `update relays_account set api_key = overlay(api_key placing 'xxxx' from 20)`,
  )
  await accept(world.db, ADA)
  await world.sender({ retryScheduleMs: LATER }).runOnce()
  const [event] = await eventsOf(world.db)
  expect(event?.details).toMatchObject({
    retry_scheduled: true,
    message_id: '',
    provider_error: expect.stringMatching(/^key of mailer domain_\w+ cannot be opened$/),
  })
  expect(provider.requests).toEqual([])
})

it('does not ask the provider for mail that phishing protection stops', async () => {
  const { provider } = await setUp()
  const refId = await accept(world.db, ADA)
  const check = async () => ({ kind: 'flagged', failedReason: 'bad' }) as const
  await drain(world.db, world.sender({ phishing: { check } }))
  expect(provider.requests).toEqual([])
  expect(await recipientsOf(world.db, refId)).toMatchObject([{ status: 'blocked', message_id: '' }])
})

it('sends large attachments whole to each recipient', async () => {
  const { provider } = await setUp('sendgrid')
  const bytes = randomBytes(1_000_000)
  await accept(world.db, {
    to: [{ email: 'ada@example.net' }, { email: 'bob@example.net' }],
    attachments: [{ filename: 'a.bin', content: bytes.toString('base64') }],
  })
  await drain(world.db, world.sender())
  expect(provider.mails).toHaveLength(2)
  for (const { attachments } of provider.mails)
    expect(attachments[0]?.content.equals(bytes)).toBe(true)
})

describe('a sender that ends during an attempt', () => {
  it('gives the attempt back without an event when it stops before the request', async () => {
    const { provider } = await setUp()
    const refId = await accept(world.db, ADA)
    const sender = world.sender({
      phishing: {
        async check() {
          stopped = sender.stop()
          // Later than the timer of its grace, which is 0 ms here.
          await new Promise((resolve) => setTimeout(resolve, 5))
          return { kind: 'passed' }
        },
      },
    })
    let stopped: Promise<void> | undefined
    await sender.runOnce()
    await stopped
    expect(provider.requests).toEqual([])
    expect(await queueOf(world.db)).toMatchObject([{ phase: 'waiting', attempt: 1 }])
    await drain(world.db, world.sender())
    expect(await attemptsOf(world.db, refId)).toMatchObject([{ attempt: 1, outcome: 'accepted' }])
  })

  it('records an uncertain attempt when it stops during the request', async () => {
    const { provider } = await setUp('sparkpost', [{ ending: 'hang', isCarriedOut: true }])
    const refId = await accept(world.db, ADA)
    const sender = world.sender({ retryScheduleMs: LATER })
    const running = sender.runOnce()
    await provider.waitUntil(() => provider.mails.length === 1)
    await sender.stop()
    await running
    expect(await attemptsOf(world.db, refId)).toMatchObject([{ attempt: 1, outcome: 'uncertain' }])
  })

  it('leaves an uncertain attempt when it dies after the commit point', async () => {
    const { provider } = await setUp('sparkpost', [{ ending: 'hang', isCarriedOut: true }])
    const refId = await accept(world.db, ADA)
    const dead = world.sender()
    void dead.runOnce()
    await provider.waitUntil(() => provider.mails.length === 1)
    expect(await queueOf(world.db)).toMatchObject([{ phase: 'dot' }])
    await runOutClaims(world.db)
    await drain(world.db, world.sender())
    expect(await attemptsOf(world.db, refId)).toMatchObject([
      { attempt: 1, outcome: 'uncertain' },
      { attempt: 2, outcome: 'accepted' },
    ])
    expect((await eventsOf(world.db)).map(inShort)).toEqual(['SMTP_ERROR 1 retry'])
  })

  it('makes no request when another sender has taken the row meanwhile', async () => {
    const { provider } = await setUp()
    await accept(world.db, ADA)
    const sender = world.sender({
      phishing: {
        async check() {
          await world.db.query('update sending_queue set fence = fence + 1')
          return { kind: 'passed' }
        },
      },
    })
    await sender.runOnce()
    expect(provider.requests).toEqual([])
    expect(await queueOf(world.db)).toMatchObject([{ phase: 'sending', attempt: 1 }])
  })
})

it('sends an email to 1,000 recipients with one request for each', async () => {
  const { provider } = await setUp('sendgrid')
  const to = Array.from({ length: 1_000 }, (_, n) => ({ email: `r${n}@example.net` }))
  const refId = await accept(world.db, { to })
  await drain(world.db, world.sender({ concurrency: 100 }))
  const refs = provider.mails.map(({ meta }) => meta.postrider_ref)
  expect(new Set(refs).size).toBe(1_000)
  expect(provider.mails).toHaveLength(1_000)
  const recipients = await recipientsOf(world.db, refId)
  expect(recipients.every(({ status }) => status === 'sent')).toBe(true)
})

it('repeats the attempt when the callback of the simulator cannot be stored', async () => {
  await addDomainMailer(world.db)
  const refId = await accept(world.db, ADA)
  let isAway = true
  const stored: string[] = []
  const sender = world.sender({
    deliverCallback: async ({ body }) => {
      if (isAway) throw new DatabaseUnavailableError('away')
      stored.push(body)
    },
  })
  await sender.runOnce()
  expect(await eventsOf(world.db)).toEqual([])
  expect(await attemptsOf(world.db, refId)).toEqual([])
  expect(await queueOf(world.db)).toMatchObject([{ phase: 'waiting', attempt: 1 }])
  isAway = false
  await world.db.query('update sending_queue set due_at = now()')
  await drain(world.db, sender)
  expect(await attemptsOf(world.db, refId)).toMatchObject([{ attempt: 1, outcome: 'accepted' }])
  expect(stored).toHaveLength(1)
})

it('sends mail by the simulator, which stores its callback before the mail counts as sent', async () => {
  await addDomainMailer(world.db)
  const refId = await accept(world.db, { to: [{ email: 'bounce-hard@example.net' }] })
  const stored: string[] = []
  const sender = world.sender({
    deliverCallback: async ({ body }) => {
      stored.push(body)
      expect(await recipientsOf(world.db, refId)).toMatchObject([{ status: 'queued' }])
    },
  })
  await drain(world.db, sender)
  expect(stored.join()).toContain(`${refId}.0`)
  expect(await recipientsOf(world.db, refId)).toMatchObject([{ status: 'sent' }])
})
