import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RelayFact, RelayMail } from '../relay.ts'
import { simulator } from './simulator.ts'

const refId = '01JD3Z5V9S8QWERTY0ABCDEFGH'
const nowMs = Date.UTC(2026, 10, 20, 10)
const mailTo = (address: string, n = 3): RelayMail => ({
  refId,
  n,
  from: { address: 'shop@example.com' },
  to: { address },
  type: 'to',
  shown: { to: [{ address }], cc: [] },
  subject: 'Hello',
  text: 'Hi',
  headers: [],
  attachments: [],
})
const simulate = (address: string) => simulator.simulate(mailTo(address), nowMs)
const factsOf = (address: string) =>
  simulator.callbacks.read(simulate(address).callback ?? '[]') ?? []

const delivered = { kind: 'delivered', reason: '250 2.0.0 Delivered' }
const hard = {
  kind: 'bounced',
  reason: '550 5.1.1 The mailbox does not exist',
  isHard: true,
  suppresses: 'bounced',
  errorCode: '550',
}

const SCENARIOS: Readonly<Record<string, readonly object[]>> = {
  delivered: [delivered],
  anybody: [delivered],
  'bounce-harder': [delivered],
  deferred: [{ kind: 'deferred', reason: '451 4.7.1 Try again later' }, delivered],
  'bounce-hard': [{ ...hard, numRetries: '0' }],
  'Bounce-Hard+a+b': [{ ...hard, numRetries: '0' }],
  'bounce-soft': [
    { kind: 'deferred', reason: '452 4.2.2 The mailbox is full' },
    {
      kind: 'bounced',
      reason: '552 5.2.2 The mailbox is full',
      isHard: false,
      errorCode: '552',
      numRetries: '2',
    },
  ],
  'out-of-band': [delivered, hard],
  complaint: [delivered, { kind: 'complained', reason: '', suppresses: 'complained' }],
  unsubscribe: [
    delivered,
    {
      kind: 'unsubscribed',
      reason: '',
      suppresses: 'unsubscribed',
      ip: '192.0.2.1',
      userAgent: expect.stringContaining('Firefox'),
    },
  ],
  policy: [
    { kind: 'policy_rejected', reason: '550 5.7.1 The content is not allowed', errorCode: '550' },
  ],
  'generation-failure': [
    {
      kind: 'generation_failed',
      reason: '554 5.6.0 The message cannot be built',
      errorCode: '554',
    },
  ],
  'generation-rejection': [
    { kind: 'generation_rejected', reason: '554 5.7.1 The message is refused', errorCode: '554' },
  ],
}

describe('a mail', () => {
  it.each(Object.entries(SCENARIOS))(
    'a mail to %s@ is accepted, and reported',
    (local, reports) => {
      const address = `${local}@example.com`
      expect(simulate(address).outcome).toEqual({
        kind: 'accepted',
        providerMessageId: `sim-${refId}.3`,
      })
      expect(factsOf(address)).toEqual(
        reports.map((report, i) => ({
          factId: `sim-${refId}.3-${i + 1}`,
          type: Reflect.get(report, 'kind'),
          atMicros: BigInt(nowMs + i) * 1_000n,
          ref: { refId, n: 3 },
          providerMessageId: `sim-${refId}.3`,
          providerSendId: `sim-${refId}.3`,
          email: address,
          raw: expect.stringContaining('"postrider_ref":'),
          ...report,
        })),
      )
    },
  )

  it('a mail to refused@ is refused for good', () => {
    expect(simulate('refused+x@example.com')).toEqual({
      outcome: {
        kind: 'failed',
        failure: {
          category: 'invalid_recipient',
          retryable: false,
          failedReason: 'The recipient address does not exist',
          providerError: '400 The simulator refuses this recipient',
          authRejected: false,
          cannotHealByWaiting: false,
        },
      },
    })
  })

  it('a mail to throttled@ is refused for the moment', () => {
    const { outcome, callback } = simulate('throttled@example.com')
    expect(callback).toBeUndefined()
    expect(outcome).toMatchObject({
      failure: {
        category: 'sender_rate_limited',
        retryable: true,
        providerError: '429 The simulator is asked too often',
      },
    })
  })

  it('has the same reports each time, and another mail has other ids', () => {
    const mail = mailTo('out-of-band@example.com')
    expect(simulator.simulate(mail, nowMs)).toEqual(simulator.simulate(mail, nowMs))
    const idsOf = (n: number, at: number) =>
      simulator.callbacks
        .read(simulator.simulate(mailTo('out-of-band@example.com', n), at).callback ?? '')
        ?.map(({ factId }) => factId)
    expect(idsOf(3, nowMs + 60_000)).toEqual(idsOf(3, nowMs))
    expect(new Set([...(idsOf(3, nowMs) ?? []), ...(idsOf(4, nowMs) ?? [])]).size).toBe(4)
  })
})

describe('a callback', () => {
  it('is accepted from the simulator itself, and never from the network', () => {
    const body = Buffer.from(simulate('delivered@example.com').callback ?? '')
    const { isAuthentic } = simulator.callbacks
    expect(isAuthentic({ headers: {}, body }, {}, nowMs)).toBe(false)
    expect(isAuthentic({ headers: {}, body }, { callbackSecret: 'x' }, nowMs)).toBe(false)
  })

  it('is read without an error for any content', () => {
    const read = (body: string) =>
      simulator.callbacks.read(body)?.map(({ kind }): RelayFact['kind'] => kind)
    const [report = '{}'] = factsOf('bounce-hard@example.com').map(({ raw }) => raw)
    const names = fc.constantFrom(...Object.keys(JSON.parse(report)))
    fc.assert(
      fc.property(names, fc.json(), (name, odd) => {
        const altered = { ...JSON.parse(report), [name]: JSON.parse(odd) }
        const isEvent = name === 'event' && altered.event !== 'bounced'
        expect(read(JSON.stringify([altered]))).toEqual([isEvent ? 'other' : 'bounced'])
      }),
    )
    fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (body) => void read(body)))
    expect(read('{}')).toBeUndefined()
    expect(read('[1,null,{}]')).toEqual(['other', 'other', 'other'])
  })
})
