import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RelayFact } from '../relay.ts'
import { fixtureEvents, fixtureMessageId, fixtureRefId } from './events.fixture.ts'
import { sendgrid } from './sendgrid.ts'

const read = sendgrid.callbacks.read
const factOf = (event: unknown) => read(JSON.stringify([event]))?.[0]

type Name = keyof typeof fixtureEvents
type Meaning = Pick<
  RelayFact,
  | 'kind'
  | 'isHard'
  | 'suppresses'
  | 'status'
  | 'providerSays'
  | 'classified'
  | 'reason'
  | 'ip'
  | 'userAgent'
>

const refused = '550 5.1.1 unknown'
const forGood = (reason: string, suppresses?: RelayFact['suppresses']): Meaning => ({
  kind: 'bounced',
  isHard: true,
  reason,
  ...(suppresses && { suppresses }),
})
const forNow = (reason: string): Meaning => ({ kind: 'bounced', isHard: false, reason })
const onList = (evidence: string) => ({
  classified: { category: 'invalid_recipient', by: 'words', evidence } as const,
})
const status = '5.1.1'
const visitor = { ip: '198.51.100.4', userAgent: 'Mozilla/5.0 (X11)' }
const other: Meaning = { kind: 'other', reason: '' }

const MEANINGS: Readonly<Record<Name, Meaning>> = {
  processed: { kind: 'processed', reason: '' },
  delivered: { kind: 'delivered', reason: '250 2.0.0 OK' },
  deferred: { kind: 'deferred', reason: '451 4.7.1 try again later' },
  bounce: { ...forGood(refused, 'bounced'), status, providerSays: 'Invalid Address' },
  bounceOfContent: { ...forGood(refused), status },
  blocked: { ...forNow(refused), status },
  expired: { ...forNow(refused), status },
  bounceOfOld: { ...forGood(refused, 'bounced'), status },
  bounceOfOldForNow: { ...forNow(refused), status: '4.2.2' },
  blockedOfOld: { ...forNow('451 busy'), status: '5.0.0' },
  delayedBounce: forGood('550 no such user', 'bounced'),
  droppedBounced: { ...forGood('Bounced Address', 'bounced'), ...onList('Bounced Address') },
  droppedUnsubscribed: forGood('Unsubscribed Address', 'unsubscribed'),
  droppedComplained: forGood('Spam Reporting Address', 'complained'),
  droppedInvalid: { ...forGood('Invalid', 'bounced'), ...onList('Invalid') },
  droppedSpam: forNow('Spam Content'),
  droppedQuota: forNow('Recipient List over Package Quota'),
  droppedByType: { ...forGood('not tried', 'bounced'), ...onList('Bounced Address') },
  spamreport: { kind: 'complained', suppresses: 'complained', reason: '' },
  unsubscribe: { kind: 'unsubscribed', suppresses: 'unsubscribed', reason: '' },
  groupUnsubscribe: { kind: 'unsubscribed', suppresses: 'unsubscribed', reason: '', ...visitor },
  groupResubscribe: other,
  open: other,
  click: other,
  accountStatusChange: other,
  unknown: other,
}

describe('a report', () => {
  it.each(Object.keys(MEANINGS) as Name[])('is read: %s', (name) => {
    const event: Record<string, unknown> = fixtureEvents[name]
    const isOfMail = name !== 'accountStatusChange'
    expect(factOf(event)).toEqual({
      factId: event.sg_event_id,
      type: event.event,
      ...MEANINGS[name],
      atMicros: 1_763_719_200_000_000n,
      ref: isOfMail ? { refId: fixtureRefId, n: 3 } : undefined,
      ...(isOfMail && { email: 'ann@example.org' }),
      ...(isOfMail &&
        name !== 'delayedBounce' && {
          providerMessageId: fixtureEvents.delivered.sg_message_id,
          providerSendId: fixtureMessageId,
        }),
      raw: JSON.stringify(event),
    })
  })

  it('[2.4] has neither error_code nor num_retries', () => {
    for (const event of Object.values(fixtureEvents)) {
      const fact = factOf({ ...event, error_code: '550', num_retries: '2', attempt: 3 })
      expect(fact).not.toHaveProperty('errorCode')
      expect(fact).not.toHaveProperty('numRetries')
    }
  })

  it.each([
    ['14c5d75ce93.dfd.64b469.filter0001.16648.5515E0B88.0', '14c5d75ce93.dfd.64b469'],
    ['142d9f3f351.7618.254f56.filter-147.22649.52A663508.0', '142d9f3f351.7618.254f56'],
    ['5lFl7Fr1Rjme_EyzNNB_5A.stfilter-015.5185.55F883172.0', '5lFl7Fr1Rjme_EyzNNB_5A'],
    ['3LrszcohQ_e2BSVcRKSoqw.filterdrecv-5d4b-x-1-63-8.0', '3LrszcohQ_e2BSVcRKSoqw'],
    ['0GOQ6fMTTmiZpLh7usBJwg.recvd-67fdc7b4d6-wbpn9-1-666CAB97-15.0', '0GOQ6fMTTmiZpLh7usBJwg'],
    ['0GOQ6fMTTmiZpLh7usBJwg.new-kind-1.0', '0GOQ6fMTTmiZpLh7usBJwg'],
    ['0GOQ6fMTTmiZpLh7usBJwg', '0GOQ6fMTTmiZpLh7usBJwg'],
    ['.filter1', '.filter1'],
    ['filter0093p1las1.9128.5717FB8127.0', 'filter0093p1las1.9128.5717FB8127.0'],
    ['recvd-67fdc7b4d6-wbpn9-1-666CAB97-15.0', 'recvd-67fdc7b4d6-wbpn9-1-666CAB97-15.0'],
  ])('keeps the whole id %s, and belongs to the request %s', (id, sendId) => {
    expect(factOf({ ...fixtureEvents.delivered, sg_message_id: id })).toMatchObject({
      providerMessageId: id,
      providerSendId: sendId,
    })
  })

  it('accepts its time as text, and in milliseconds', () => {
    const at = (timestamp: unknown) => factOf({ ...fixtureEvents.open, timestamp })?.atMicros
    expect(at('1763719200')).toBe(1_763_719_200_000_000n)
    expect(at(1763719200123)).toBe(1_763_719_200_123_000n)
    for (const timestamp of [undefined, null, 'soon', -1, 0, {}])
      expect(at(timestamp)).toBe(undefined)
  })

  it('accepts its type in any case', () => {
    expect(factOf({ ...fixtureEvents.bounce, event: 'Bounce', type: 'Blocked' })).toMatchObject({
      kind: 'bounced',
      type: 'Bounce',
      isHard: false,
    })
  })

  it('keeps its text, with the digits of numbers', () => {
    const raw = '{"event":"open", "asm_group_id":12345678901234567890.5,"tls":1e400}'
    expect(read(`[${raw} ]`)?.[0]?.raw).toBe(raw)
  })

  it('a report without an id has the same one at every repetition', () => {
    const { sg_event_id: _, ...event } = fixtureEvents.delivered
    const id = factOf(event)?.factId
    expect(id).toMatch(/^[\w-]{43}$/)
    expect(factOf(event)?.factId).toBe(id)
    expect(factOf({ ...event, timestamp: 1763719201 })?.factId).not.toBe(id)
    expect(factOf({ ...event, sg_event_id: '' })?.factId).toMatch(/^[\w-]{43}$/)
  })

  it('a report of other mail names no copy of ours', () => {
    for (const ref of [undefined, '', 'x', `${fixtureRefId}.`, 7, { refId: fixtureRefId }])
      expect(factOf({ ...fixtureEvents.delivered, postrider_ref: ref })?.ref).toBeUndefined()
  })
})

describe('a callback', () => {
  it('has a fact for each report, in order', () => {
    const events = Object.values(fixtureEvents)
    const types = read(JSON.stringify(events, null, 2))?.map(({ type }) => type)
    expect(types).toEqual(events.map(({ event }) => event))
  })

  it('may be empty', () => {
    expect(read('[]')).toEqual([])
  })

  it('a callback without reports of SendGrid has no facts', () => {
    const bodies = ['', '{}', 'null', '[{}]', '[1]', '[{"msys":{}}]', '[{"event":7}]', '[[]]']
    for (const body of [...bodies, JSON.stringify(fixtureEvents.open), '[{"event":"open"}'])
      expect(read(body)).toBeUndefined()
  })

  it('is accepted with unknown values among its reports', () => {
    const odd = [null, 7, 'x', [], {}, fixtureEvents.delivered]
    const facts = read(JSON.stringify(odd)) ?? []
    expect(facts.map(({ kind }) => kind)).toEqual([...Array(5).fill('other'), 'delivered'])
  })

  it('is read without an error for any content, and its facts can be stored', () => {
    const value = fc.oneof(
      fc.json().map((text) => JSON.parse(text)),
      fc.string({ unit: 'binary' }),
    )
    const names = fc.constantFrom(...Object.keys(fixtureEvents.bounce), 'useragent', 'response')
    const events = fc.constantFrom(...Object.values(fixtureEvents))
    fc.assert(
      fc.property(events, names, value, (event, name, odd) => {
        const fact = factOf({ ...event, [name]: odd })
        if (fact === undefined) {
          expect(name).toBe('event')
          return
        }
        const { atMicros, ref, raw, ...rest } = fact
        for (const text of Object.values(rest).filter((one) => typeof one === 'string')) {
          expect(text.isWellFormed()).toBe(true)
          expect(text).not.toContain('\u0000')
          expect(text.length).toBeLessThanOrEqual(2_000)
        }
        expect(fact.factId).not.toBe('')
        expect(JSON.parse(raw)).toEqual(JSON.parse(JSON.stringify({ ...event, [name]: odd })))
        expect(atMicros === undefined || atMicros > 0n).toBe(true)
      }),
    )
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => void read(text)))
  })
})

it('reports a suppressed address with the status that says why', () => {
  const dropped = { event: 'dropped', email: 'cy@example.net', reason: 'Bounced Address' }
  const statusOf = (status: string) => factOf({ ...dropped, status })?.status
  expect(statusOf('5.7.1')).toBe('5.7.1')
  expect(statusOf('5.0.0')).toBeUndefined()
})
