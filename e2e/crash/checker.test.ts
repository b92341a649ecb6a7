import { describe, expect, it } from 'vitest'
import { checkHistory } from './checker.ts'
import type {
  ClientFact,
  DeliveryRecord,
  History,
  NemesisFact,
  ProcessName,
  SmtpLogFact,
  WebhookLogFact,
} from './history.ts'
import { type Rule, rules } from './report.ts'

const T0 = Date.parse('2026-11-20T12:00:00Z')
const ULID = '01JD4M8W6ZQ3V5T7X9Y2A4C6'
const zero = { time: '', ip: '', user_agent: '', browser_name: '', browser_version: '', os: '' }
const tracking = {
  ...zero,
  ...{
    device_type: '',
    platform: '',
    country: '',
    city: '',
    region: '',
    time_zone: '',
    bot: false,
  },
}
const trace = (n: number): string => `${String(n).padStart(32, 'a')}`

interface MutableHistory {
  client: ClientFact[]
  nemesis: NemesisFact[]
  smtp: SmtpLogFact[]
  webhook: WebhookLogFact[]
  output: Record<string, string>
}

interface WireEvent {
  event: string
  success: boolean
  details: Record<string, unknown>
}

type MutableDelivery = { -readonly [K in keyof DeliveryRecord]: DeliveryRecord[K] }
type RequestFact = Extract<WebhookLogFact, { fact: 'request.received' }>
type MessageFact = Extract<SmtpLogFact, { fact: 'message.received' }>

/**
 * An honest round by hand. Tenant a sends to `ok` (delivered), `later` (deferred, then delivered),
 * `never` (refused for good) and `doubt` (dropped after the commit point, then delivered); tenant b to `b`.
 * The sender dies once at a failpoint, the dispatcher once by the nemesis; request 3 repeats 2.
 *
 * Then tenant a sends to `sick`, whose event is poison, and to `fine`: request 5 holds both and is
 * refused, 6 and 8 hold the poison alone, 7 the other; 9 is the poison again when it is taken.
 */
function honest() {
  const history: MutableHistory = {
    client: [],
    nemesis: [],
    smtp: [],
    webhook: [],
    output: { 'api.log': 'service.started' },
  }
  let ms = 0
  let transaction = 0
  let request = 0
  const at = (): number => {
    ms += 100
    return T0 + ms
  }
  const time = (): string => new Date(at()).toISOString().replace('Z', '000Z')

  const tenant = (name: string): void => {
    history.client.push({
      at: at(),
      fact: 'tenant.ready',
      tenant: name,
      canary: `canary-${name}`,
      path: `/hook/${name}`,
      webhookId: `wh_${ULID}W${name.toUpperCase()}`,
      headers: { 'X-Secret': `canary-${name}` },
      mailerId: `smtp_${ULID}M${name.toUpperCase()}`,
      secrets: [`password of ${name}`],
    })
  }
  const argsOf = (name: string, local?: string): Record<string, unknown> => ({
    canary: `canary-${name}`,
    ...(local === 'sick' ? { poison: true } : {}),
  })
  const send = (name: string, n: number, ...to: string[]): void => {
    history.client.push({
      at: at(),
      fact: 'send.invoked',
      tenant: name,
      key: `key-${n}`,
      traceparent: `00-${trace(n)}-00f067aa0ba902b7-01`,
      request: {
        from: { email: `${name}@x.test` },
        to: to.map((local) => ({ email: `${local}@x.test` })),
        custom_args: argsOf(name, to[0]),
        settings: { max_attempts: 3 },
      },
    })
    history.client.push({
      at: at(),
      fact: 'send.answered',
      tenant: name,
      key: `key-${n}`,
      status: 202,
      answer: { success: true, ref_id: `${ULID}R${n}` },
    })
  }
  const rcpt = (local: string, reply: string): void => {
    const fact = { fact: 'reply.given', phase: 'rcpt', connection: 1 } as const
    history.smtp.push({ at: at(), ...fact, reply, recipient: `${local}@x.test` })
  }
  const dot = (local: string, name: string, reply: string | null): void => {
    rcpt(local, '250 ok')
    transaction += 1
    history.smtp.push({
      at: at(),
      fact: 'message.received',
      connection: 1,
      transaction,
      from: `${name}@x.test`,
      recipients: [`${local}@x.test`],
      messageId: `<${local}@x.test>`,
      raw: `Subject: canary-${name}\r\n`,
      reply,
      accepted: reply?.startsWith('2') === true,
    })
    if (reply !== null) history.smtp.push({ at: at(), fact: 'reply.flushed', transaction })
  }
  const event = (name: string, n: number, local: string, failure?: object): WireEvent => ({
    event: failure === undefined ? 'MAIL_DELIVERED' : 'SMTP_ERROR',
    success: failure === undefined,
    details: {
      ref_id: `${ULID}R${n}`,
      mailer_id: `smtp_${ULID}M${name.toUpperCase()}`,
      email: [`${local}@x.test`],
      custom_args: argsOf(name, local),
      message_id: `<${local}@x.test>`,
      thread_id: '',
      webhook_id: `wh_${ULID}W${name.toUpperCase()}`,
      event_at: time(),
      tracking,
      failed_reason: '',
      ...(failure && { max_attempts: 3, retry_scheduled: true, failed_reason: 'It failed' }),
      ...failure,
    },
  })
  const post = (name: string, traceId: string, body: string, answer: object): void => {
    request += 1
    history.webhook.push({
      at: at(),
      fact: 'request.received',
      request,
      method: 'POST',
      path: `/hook/${name}`,
      headers: [
        ['content-type', 'application/json'],
        ['X-Secret', `canary-${name}`],
        ['traceparent', `00-${traceId}-00f067aa0ba902b7-01`],
      ],
      body,
      answer,
    })
    history.webhook.push({ at: at(), fact: 'answer.flushed', request })
  }
  const start = (process: ProcessName): void => {
    history.nemesis.push({ at: at(), fact: 'process.started', process, pid: 1 })
  }
  const die = (process: ProcessName, by: 'failpoint' | 'nemesis'): void => {
    const fact = { fact: 'process.died', pid: 1, signal: 'SIGKILL', code: null } as const
    history.nemesis.push({ at: at(), ...fact, process, by })
  }

  for (const name of ['database', 'api', 'sender', 'dispatcher'] as const) start(name)
  history.nemesis.push({
    at: at(),
    fact: 'failpoint.armed',
    process: 'sender',
    failpoint: 'send.after_reply=kill',
  })
  tenant('a')
  tenant('b')
  send('a', 1, 'ok')
  send('a', 2, 'later', 'never')
  send('a', 3, 'doubt')
  send('b', 4, 'b')

  dot('ok', 'a', '250 queued')
  const ok = event('a', 1, 'ok')
  rcpt('later', '450 4.2.0 later')
  const deferred = event('a', 2, 'later', { attempt: 1, provider_error: '450 4.2.0 later' })
  rcpt('never', '550 5.1.1 no')
  const failure = { attempt: 1, retry_scheduled: false, provider_error: '550 5.1.1 no' }
  const never = event('a', 2, 'never', failure)
  dot('doubt', 'a', null)
  die('sender', 'failpoint')
  start('sender')
  const doubt = event('a', 3, 'doubt', {
    attempt: 1,
    failed_reason: 'The connection was lost; the mail may have been delivered',
  })
  dot('later', 'a', '250 queued')
  const later = event('a', 2, 'later')
  dot('doubt', 'a', '250 queued')
  const sure = event('a', 3, 'doubt')
  dot('b', 'b', '250 queued')
  const b = event('b', 4, 'b')

  post('a', trace(1), JSON.stringify([ok, deferred, never]), { status: 200 })
  history.nemesis.push({ at: at(), fact: 'kill.planned', process: 'dispatcher' })
  post('a', trace(3), JSON.stringify([doubt, later, sure]), { status: 200 })
  die('dispatcher', 'nemesis')
  start('dispatcher')
  post('a', trace(3), JSON.stringify([doubt, later, sure]), { status: 200 })
  post('b', trace(4), JSON.stringify([b]), { status: 200 })
  history.nemesis.push({ at: at(), fact: 'healed' })

  send('a', 5, 'sick')
  send('a', 6, 'fine')
  dot('sick', 'a', '250 queued')
  const sick = event('a', 5, 'sick')
  dot('fine', 'a', '250 queued')
  const fine = event('a', 6, 'fine')
  post('a', trace(5), JSON.stringify([sick, fine]), { status: 400 })
  post('a', trace(5), JSON.stringify([sick]), { status: 422 })
  post('a', trace(6), JSON.stringify([fine]), { status: 200 })
  post('a', trace(5), JSON.stringify([sick]), { status: 400 })

  const record = (
    id: string,
    status: string,
    answers: readonly (number | null)[],
    ...of: WireEvent[]
  ) => ({
    delivery_id: id,
    webhook_id: `wh_${ULID}WA`,
    status,
    events: of.map(({ event, details }) => ({
      event,
      ref_id: String(details.ref_id),
      event_at: String(details.event_at),
      ...(details.attempt === undefined ? {} : { attempt: Number(details.attempt) }),
    })),
    attempts: answers.map((answer) => ({ status: answer })),
  })
  const settled = () => [
    record('d1', 'delivered', [200], ok, deferred, never),
    record('d2', 'delivered', [200], doubt, later, sure),
    { ...record('d3', 'discarded', [400], sick, fine), divided_into: ['d4', 'd5'] },
    record('d5', 'delivered', [200], fine),
  ]
  const reading = (
    tenant: string,
    when: 'refusing' | 'drained',
    deliveries: MutableDelivery[],
  ): void => {
    history.client.push({ at: at(), fact: 'deliveries.read', tenant, when, deliveries })
  }
  reading('a', 'refusing', [...settled(), record('d4', 'parked', [422, 400], sick)])
  reading('b', 'refusing', [record('d6', 'delivered', [200], b)])
  history.webhook.push({ at: at(), fact: 'healed' })
  post('a', trace(5), JSON.stringify([sick]), { status: 200 })
  history.client.push({ at: at(), fact: 'drained', complete: true })
  reading('a', 'drained', [...settled(), record('d4', 'delivered', [422, 400, 200], sick)])
  reading('b', 'drained', [record('d6', 'delivered', [200], b)])

  const requests = history.webhook.filter((fact) => fact.fact === 'request.received')
  const messages = history.smtp.filter((fact) => fact.fact === 'message.received')
  return {
    history,
    post,
    dot,
    rcpt,
    event,
    /** Changes a fact that the history holds. */
    change: <F extends object>(fact: F | undefined, changes: Partial<F>) => {
      if (fact === undefined) throw new Error('no such fact')
      Object.assign(fact, changes)
    },
    request: (n: number): RequestFact | undefined => requests[n - 1],
    freeze: (process: ProcessName): void => {
      history.nemesis.push({ at: at(), fact: 'process.frozen', process, pid: 1 })
      history.nemesis.push({ at: at(), fact: 'process.thawed', process, pid: 1 })
    },
    start,
    /** The record of that delivery, as it was last read or while poison was refused. */
    delivery(id: string, when: 'refusing' | 'drained' = 'drained'): MutableDelivery {
      for (const fact of history.client) {
        if (fact.fact !== 'deliveries.read' || fact.when !== when) continue
        const found = fact.deliveries.find((one) => one.delivery_id === id)
        if (found !== undefined) return found
      }
      throw new Error(`no delivery ${id}`)
    },
    /** Takes the record of a delivery away, as if there had been none. */
    forget(id: string, when: 'refusing' | 'drained' = 'drained') {
      for (const fact of history.client) {
        if (fact.fact !== 'deliveries.read' || fact.when !== when) continue
        const kept = fact.deliveries.filter((one) => one.delivery_id !== id)
        Object.assign(fact, { deliveries: kept })
      }
    },
    message: (local: string): MessageFact | undefined =>
      messages.findLast((fact) => fact.recipients.includes(`${local}@x.test`)),
    /** Rewrites the events of request n, and of those that repeat it. */
    rewrite(n: number, edit: (events: WireEvent[]) => WireEvent[]) {
      const before = requests[n - 1]?.body
      for (const one of requests) {
        if (one.body !== before) continue
        Object.assign(one, { body: JSON.stringify(edit(JSON.parse(one.body))) })
      }
    },
  }
}

type Round = ReturnType<typeof honest>

const brokenRules = (history: History): Set<Rule> =>
  new Set(checkHistory(history).violations.map((violation) => violation.rule))

const without = (event: string, local: string) => (events: WireEvent[]) =>
  events.filter((one) => one.event !== event || String(one.details.email) !== `${local}@x.test`)

const edit =
  (local: string, changes: Record<string, unknown>, event = '') =>
  (events: WireEvent[]) =>
    events.map((one) =>
      String(one.details.email) === `${local}@x.test` && one.event.includes(event)
        ? { ...one, details: { ...one.details, ...changes } }
        : one,
    )

/** What was done to the honest history, and the rule that must notice. */
const corruptions: readonly [what: string, rule: Rule, corrupt: (round: Round) => void][] = [
  [
    'an accepted mail vanishes',
    'I1.lost',
    (round) => round.rewrite(1, without('MAIL_DELIVERED', 'ok')),
  ],
  [
    'a retry is never made',
    'I1.lost',
    (round) => round.rewrite(2, without('MAIL_DELIVERED', 'later')),
  ],
  [
    'a delivered mail is reported a second time with another time',
    'I1.ended-twice',
    ({ post, event }) =>
      post('a', trace(1), JSON.stringify([event('a', 1, 'ok')]), { status: 200 }),
  ],
  [
    'a replay of the key makes a second email',
    'I1.split',
    ({ history }) =>
      history.client.push({
        at: T0,
        fact: 'send.answered',
        tenant: 'a',
        key: 'key-1',
        status: 202,
        answer: { ref_id: `${ULID}R9` },
      }),
  ],
  [
    'a good send is refused',
    'I1.refused',
    ({ history }) =>
      history.client.push({
        at: T0,
        fact: 'send.answered',
        tenant: 'a',
        key: 'key-1',
        status: 500,
        answer: { code: 'internal_error' },
      }),
  ],
  ['a mail is sent twice in silence', 'I2.copies', ({ dot }) => dot('ok', 'a', '250 queued')],
  [
    'a repetition gets another Message-ID',
    'I2.message-id',
    ({ change, message }) => change(message('doubt'), { messageId: '<other@x.test>' }),
  ],
  [
    'delivery is claimed before the server has it',
    'I3.delivered-unseen',
    ({ change, message }) => change(message('ok'), { accepted: false, reply: null }),
  ],
  [
    'an accepted mail is reported as failed',
    'I3.delivered-denied',
    ({ dot }) => dot('never', 'a', '250 queued'),
  ],
  [
    'an attempt has no event',
    'I4.attempts',
    (round) => round.rewrite(1, edit('later', { attempt: 2 })),
  ],
  [
    'the counter starts again after a restart',
    'I4.attempts',
    ({ post, event, rcpt }) => {
      rcpt('later', '450 4.2.0 later')
      const failure = { attempt: 1, provider_error: '450 4.2.0 later' }
      post('a', trace(2), JSON.stringify([event('a', 2, 'later', failure)]), { status: 200 })
    },
  ],
  [
    'the budget changes',
    'I4.budget',
    (round) => round.rewrite(1, edit('later', { max_attempts: 4 })),
  ],
  [
    'a failure for good promises a retry',
    'I4.retry',
    (round) => round.rewrite(1, edit('never', { retry_scheduled: true })),
  ],
  [
    'a failure for now gives up',
    'I4.retry',
    (round) => round.rewrite(1, edit('later', { retry_scheduled: false })),
  ],
  [
    'a failure is reported that never was',
    'I4.invented',
    (round) => round.rewrite(1, edit('later', { provider_error: '451 4.0.0 made up' })),
  ],
  [
    'failures are kept to itself',
    'I4.swallowed',
    ({ rcpt }) => {
      rcpt('later', '450 4.2.0 later')
      rcpt('later', '450 4.2.0 later')
    },
  ],
  [
    'an answered dot is called uncertain twice over',
    'I4.doubt',
    (round) =>
      round.rewrite(1, (events) => [
        ...events,
        ...[1, 2].map((attempt) =>
          round.event('a', 1, 'ok', { attempt, failed_reason: 'It may have been delivered' }),
        ),
      ]),
  ],
  [
    'two recipients of one email share a key',
    'I5.key',
    (round) =>
      round.rewrite(1, (events) => {
        const [, deferred] = events
        return edit('never', { event_at: deferred?.details.event_at })(events)
      }),
  ],
  [
    'an event changes between two requests',
    'I5.key',
    ({ change, request }) =>
      change(request(3), { body: request(3)?.body.replace('may have', 'might have') ?? '' }),
  ],
  [
    'an event is of an email that nobody sent',
    'I5.invented',
    (round) => round.rewrite(4, edit('b', { ref_id: `${ULID}R9` })),
  ],
  [
    'an event is of an address that was no recipient',
    'I5.invented',
    (round) => round.rewrite(4, edit('b', { email: ['stranger@x.test'] })),
  ],
  [
    'an event is given up after a 503',
    'I5.unacknowledged',
    ({ change, request }) => change(request(4), { answer: { status: 503 } }),
  ],
  [
    'event_at is when it was posted',
    'I5.stamped-late',
    (round) =>
      round.rewrite(2, edit('doubt', { event_at: '2026-11-20T12:00:59.000000Z' }, 'SMTP_ERROR')),
  ],
  ['a body is one object', 'I6.shape', (round) => round.rewrite(4, (events) => events[0] as never)],
  [
    'tracking is left out',
    'I6.shape',
    (round) => round.rewrite(4, edit('b', { tracking: undefined })),
  ],
  [
    'custom_args are someone else’s idea',
    'I6.shape',
    (round) => round.rewrite(4, edit('b', { custom_args: null })),
  ],
  [
    'a batch is in no order',
    'I6.sorted',
    (round) => round.rewrite(1, (events) => events.reverse()),
  ],
  [
    'the webhook id is another',
    'I6.webhook',
    (round) => round.rewrite(4, edit('b', { webhook_id: `wh_${ULID}WA` })),
  ],
  [
    'a custom header is missing',
    'I6.webhook',
    ({ change, request }) =>
      change(request(4), { headers: [['content-type', 'application/json']] }),
  ],
  [
    'traceparent starts a trace of its own',
    'I6.traceparent',
    ({ change, request }) =>
      change(request(4), {
        headers: [
          ['content-type', 'application/json'],
          ['X-Secret', 'canary-b'],
          ['traceparent', `00-${trace(9)}-00f067aa0ba902b7-01`],
        ],
      }),
  ],
  [
    'a repeated batch is cut anew',
    'I6.repeat',
    ({ change, request }) =>
      change(request(3), { body: JSON.stringify(JSON.parse(request(3)?.body ?? '').slice(0, 2)) }),
  ],
  [
    'a part is sent of a batch that nobody refused',
    'I6.repeat',
    ({ change, request }) => change(request(5), { answer: { status: 503 } }),
  ],
  [
    'a batch is put together anew from what it was divided into',
    'I6.repeat',
    ({ post, request }) => post('a', trace(5), request(5)?.body ?? '', { status: 200 }),
  ],
  [
    'an acknowledged batch comes again and again',
    'I6.needless',
    ({ post, request }) => {
      // Once is what the kill of the dispatcher explains.
      for (let again = 0; again < 2; again += 1) {
        post('b', trace(4), request(4)?.body ?? '', { status: 200 })
      }
    },
  ],
  [
    'a body holds another tenant’s data',
    'I8.canary',
    (round) => round.rewrite(4, edit('b', { failed_reason: 'canary-a' })),
  ],
  [
    'a password is printed',
    'I8.secret',
    ({ history }) => {
      history.output = { 'sender.log': 'AUTH PLAIN me password of b' }
    },
  ],
  [
    'a process does not outlive the database',
    'I10.fell',
    ({ history }) =>
      history.nemesis.push({
        ...{ at: T0, fact: 'process.died', process: 'api', pid: 1 },
        ...{ signal: null, code: 1, by: 'itself' },
      }),
  ],
  [
    'an event waits until the poison beside it is taken',
    'I11.held-up',
    ({ change, request, history }) => {
      const healed = history.webhook.find((fact) => fact.fact === 'healed')
      change(request(7), { at: (healed?.at ?? 0) + 1 })
    },
  ],
  [
    'an event is parked that nobody refuses',
    'I12.parked',
    ({ delivery, forget }) => {
      forget('d4', 'refusing')
      delivery('d5', 'refusing').status = 'parked'
    },
  ],
  [
    'poison is given up',
    'I12.parked',
    ({ delivery }) => {
      delivery('d4', 'refusing').status = 'exhausted'
    },
  ],
  [
    'poison is never parted from the others',
    'I12.parked',
    ({ delivery, forget }) => {
      forget('d4', 'refusing')
      delivery('d3', 'refusing').status = 'retrying'
    },
  ],
  [
    'a delivery is called delivered after a 503',
    'I12.unseen',
    ({ change, request }) => change(request(7), { answer: { status: 503 } }),
  ],
  ['a delivery is not on record', 'I12.unrecorded', ({ forget }) => forget('d1')],
  [
    'an event is delivered in two deliveries',
    'I12.once',
    ({ history, delivery }) =>
      history.client.push({
        ...{ at: T0, fact: 'deliveries.read', tenant: 'a', when: 'drained' },
        deliveries: [
          { ...delivery('d5'), delivery_id: 'd7' },
          { ...delivery('d5'), delivery_id: 'd8' },
        ],
      }),
  ],
  ['an event is in no delivery', 'I12.once', ({ forget }) => forget('d5')],
  [
    'the parts of a division are in the wrong order',
    'I12.divided',
    ({ delivery }) => {
      delivery('d3').divided_into = ['d5', 'd4']
    },
  ],
  ['one part of a division is missing', 'I12.divided', ({ forget }) => forget('d4')],
  [
    'a delivery is divided that was not refused',
    'I12.divided',
    ({ change, request }) => change(request(5), { answer: { status: 503 } }),
  ],
  [
    'a delivery is discarded without a reason',
    'I12.ended',
    ({ delivery }) => {
      delivery('d5').status = 'discarded'
    },
  ],
  [
    'an attempt is made up',
    'I12.attempts',
    ({ delivery }) => {
      delivery('d5').attempts = [{ status: 503 }, { status: 200 }]
    },
  ],
  [
    'attempts are kept to itself',
    'I12.attempts',
    ({ delivery }) => {
      delivery('d4').attempts = [{ status: 200 }]
    },
  ],
  [
    'a message holds another tenant’s data',
    'I8.canary',
    ({ change, message }) => change(message('b'), { raw: 'Subject: canary-a\r\n' }),
  ],
]

describe('the checker of crash rounds', () => {
  it('finds no violation in an honest round, and that the round did work', () => {
    const report = checkHistory(honest().history)
    expect(report.violations).toEqual([])
    expect(report.voidBecause).toEqual([])
    expect(report.verdict).toBe('green')
    expect(report.counts).toMatchObject({
      accepted: 6,
      recipients: 7,
      delivered: 6,
      failedAttempts: 3,
      uncertainAttempts: 1,
      repeatedRequests: 3,
      poisonEvents: 1,
      duplicateRequests: 1,
      duplicateEvents: 3,
      senderKills: 1,
      dispatcherKills: 1,
    })
  })

  it('counts acknowledgements, and not repetitions that were cut off', () => {
    const { history, post, request, delivery } = honest()
    post('a', trace(3), request(3)?.body ?? '', { ending: 'rst' })
    delivery('d2').attempts = [{ status: 200 }, { status: null }]
    expect(checkHistory(history).violations).toEqual([])
  })

  it('accepts a second acknowledgement from a dispatcher that lost its streams to another', () => {
    const { history, post, request, start } = honest()
    for (let again = 0; again < 2; again += 1) {
      post('b', trace(4), request(4)?.body ?? '', { status: 200 })
    }
    expect(brokenRules(history)).toContain('I6.needless')
    start('dispatcher-2')
    expect(checkHistory(history).violations).toEqual([])
  })

  it('accepts a divided batch once more from a dispatcher that was suspended with it', () => {
    const { history, post, request, freeze } = honest()
    post('a', trace(5), request(5)?.body ?? '', { status: 400 })
    expect(brokenRules(history)).toContain('I6.repeat')
    freeze('dispatcher')
    expect(checkHistory(history).violations).toEqual([])
  })

  for (const [what, rule, corrupt] of corruptions) {
    it(`${rule}: notices when ${what}`, () => {
      const round = honest()
      corrupt(round)
      expect(brokenRules(round.history)).toContain(rule)
      expect(checkHistory(round.history).verdict).toBe('red')
    })
  }

  it('has a corrupted history for every rule', () => {
    expect(new Set(corruptions.map(([, rule]) => rule))).toEqual(new Set(Object.keys(rules)))
  })
})

describe('a round is void', () => {
  const voids: readonly [because: RegExp, empty: (history: MutableHistory) => void][] = [
    [/send.after_reply=kill in sender did not fire/, (history) => drop(history, 'process.died')],
    [/dispatcher was to be killed and was not/, (history) => drop(history, 'process.died')],
    [/database never ran/, (history) => drop(history, 'process.started')],
    [/never healed/, (history) => drop(history, 'healed')],
    [/no send was accepted/, (history) => (history.client = [])],
    [
      /deliveries were not read when refusing/,
      (history) => {
        history.client = history.client.filter((fact) => fact.fact !== 'deliveries.read')
      },
    ],
    [/nothing was parked/, (history) => dropReadings(history)],
    [/nothing was divided/, (history) => dropReadings(history)],
    [/the SMTP server saw no mail/, (history) => (history.smtp = [])],
    [/the receiver acknowledged nothing/, (history) => (history.webhook = [])],
    [
      /key-9 was never answered for good/,
      (history) => {
        const first = history.client.find((fact) => fact.fact === 'send.invoked')
        if (first !== undefined) history.client.push({ ...first, key: 'key-9' })
      },
    ],
  ]
  const dropReadings = (history: MutableHistory): void => {
    for (const fact of history.client) {
      if (fact.fact === 'deliveries.read') Object.assign(fact, { deliveries: [] })
    }
  }
  const drop = (history: MutableHistory, fact: NemesisFact['fact']): void => {
    history.nemesis = history.nemesis.filter((one) => one.fact !== fact)
  }
  for (const [because, empty] of voids) {
    it(`when ${because.source}`, () => {
      const { history } = honest()
      empty(history)
      const report = checkHistory(history)
      expect(report.voidBecause.join('\n')).toMatch(because)
      expect(report.verdict).not.toBe('green')
    })
  }
})
