import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { reportsMax } from '../callbacks/read-reports.ts'
import type { RelayFact } from '../relay.ts'
import { bounce, EVENTS, OTHERS } from './events.fixture.ts'
import { refId } from './mail.fixture.ts'
import { sparkpost } from './sparkpost.ts'

const read = (...reports: readonly unknown[]) => sparkpost.callbacks.read(JSON.stringify(reports))
function factOf(report: unknown): RelayFact {
  const [fact, ...others] = read(report) ?? []
  if (fact === undefined || others.length > 0) throw new Error('one report is one fact')
  return fact
}

const common = {
  factId: '92356927693813856',
  atMicros: 1_454_442_600_000_000n,
  ref: { refId, n: 3 },
  providerMessageId: '000443ee14578172be22',
  providerSendId: '65832150921904138',
  email: 'Ann@example.net',
  reason: '',
}
const refused = { reason: '550 5.1.1 <Ann@example.net>: no such user', errorCode: '550' }

/** Every type that has a meaning here, as documented. */
const TABLE: readonly (readonly [name: keyof typeof EVENTS, fact: object])[] = [
  ['injection', { ...common, kind: 'processed', type: 'injection' }],
  ['delivery', { ...common, kind: 'delivered', type: 'delivery', numRetries: '1' }],
  [
    'delay',
    {
      ...common,
      kind: 'deferred',
      type: 'delay',
      reason: '454 4.4.4 [internal] no MX or A for domain',
      errorCode: '454',
      numRetries: '1',
    },
  ],
  [
    'bounce',
    {
      ...common,
      ...refused,
      kind: 'bounced',
      type: 'bounce',
      isHard: true,
      suppresses: 'bounced',
      providerSays: 'Invalid Recipient',
      numRetries: '2',
    },
  ],
  [
    'outOfBand',
    {
      ...withoutSendId(common),
      ...refused,
      ref: undefined,
      kind: 'bounced',
      type: 'out_of_band',
      isHard: true,
      suppresses: 'bounced',
      providerSays: 'Invalid Recipient',
    },
  ],
  [
    'spamComplaint',
    { ...common, kind: 'complained', type: 'spam_complaint', suppresses: 'complained' },
  ],
  [
    'policyRejection',
    {
      ...common,
      kind: 'policy_rejected',
      type: 'policy_rejection',
      reason: '550 5.7.1 the content is not wanted',
      errorCode: '550',
    },
  ],
  [
    'generationFailure',
    {
      ...withoutMessageId(common),
      factId: '0a1b2c3d-0000-4000-8000-000000000001',
      atMicros: 1_539_300_285_123_000n,
      kind: 'generation_failed',
      type: 'generation_failure',
      reason: '554 5.3.3 [internal] Error while rendering part html: line 1',
      errorCode: '554',
    },
  ],
  [
    'generationRejection',
    {
      ...common,
      kind: 'generation_rejected',
      type: 'generation_rejection',
      reason: '554 5.7.1 [internal] not generated',
      errorCode: '554',
    },
  ],
  [
    'listUnsubscribe',
    { ...common, kind: 'unsubscribed', type: 'list_unsubscribe', suppresses: 'unsubscribed' },
  ],
  [
    'linkUnsubscribe',
    {
      ...common,
      kind: 'unsubscribed',
      type: 'link_unsubscribe',
      suppresses: 'unsubscribed',
      ip: '198.51.100.7',
      userAgent: 'Mozilla/5.0 (X11; Linux x86_64)',
    },
  ],
]

function withoutSendId({ providerSendId: _none, ...rest }: typeof common) {
  return rest
}
function withoutMessageId({ providerMessageId: _none, ...rest }: typeof common) {
  return rest
}

describe('an event', () => {
  it.each(TABLE)('is read: %s', (name, fact) => {
    expect(factOf(EVENTS[name])).toEqual({ ...fact, raw: JSON.stringify(EVENTS[name]) })
  })

  it('has a row in the table for every name in the fixtures', () => {
    expect(TABLE.map(([name]) => name).toSorted()).toEqual(Object.keys(EVENTS).toSorted())
  })

  it.each(OTHERS)('an event of type $type is stored without consequences', ({ type, event }) => {
    expect(factOf(event)).toMatchObject({ kind: 'other', type, ref: { refId, n: 3 } })
    expect(factOf(event)).not.toHaveProperty('suppresses')
  })

  it('is read by its type, whatever class encloses it', () => {
    const { message_event: inner } = EVENTS.bounce.msys as Record<string, object>
    expect(factOf({ msys: { some_event: inner } })).toMatchObject({ kind: 'bounced' })
  })

  it('an event without a type is read by its class', () => {
    const inbound = { msys: { relay_message: { content: { email_rfc822: 'From: a' } } } }
    expect(factOf(inbound)).toMatchObject({ kind: 'other', type: 'relay_message' })
  })
})

describe('a bounce', () => {
  const meaning = (fields: object, type?: string) => {
    const { kind, isHard, suppresses } = factOf(bounce(fields, type))
    return { kind, isHard, suppresses }
  }
  const soft = { kind: 'bounced', isHard: false, suppresses: undefined }
  const hard = { kind: 'bounced', isHard: true, suppresses: 'bounced' }
  const none = { kind: 'other', isHard: undefined, suppresses: undefined }
  const unsubscribed = { kind: 'unsubscribed', isHard: undefined, suppresses: 'unsubscribed' }

  it.each([
    ['1', soft],
    ['10', hard],
    ['20', soft],
    ['21', soft],
    ['22', soft],
    ['23', soft],
    ['24', soft],
    ['25', { ...hard, suppresses: undefined }],
    ['30', hard],
    ['40', soft],
    ['50', soft],
    ['51', soft],
    ['52', soft],
    ['53', soft],
    ['54', soft],
    ['60', none],
    ['70', soft],
    ['80', none],
    ['90', unsubscribed],
    ['100', none],
    ['999', soft],
    [undefined, soft],
    ['constructor', soft],
  ])('a bounce of class %s is classified', (bounceClass, expected) => {
    expect(meaning({ bounce_class: bounceClass })).toEqual(expected)
    expect(meaning({ bounce_class: bounceClass }, 'out_of_band')).toEqual(expected)
  })

  it('suppresses an address on a suppression list of the provider', () => {
    for (const reason of [
      'Recipient address was suppressed due to customer policy',
      '554 5.7.1 recipient address suppressed due to system policy',
    ]) {
      expect(meaning({ bounce_class: '25', raw_reason: reason })).toEqual(hard)
      expect(meaning({ raw_reason: reason }, 'generation_rejection')).toEqual({
        kind: 'generation_rejected',
        isHard: undefined,
        suppresses: 'bounced',
      })
      expect(meaning({ raw_reason: reason }, 'policy_rejection')).toMatchObject({
        kind: 'policy_rejected',
        suppresses: 'bounced',
      })
    }
    const cancelled = { bounce_class: '25', raw_reason: '554 5.7.1 [internal] Campaign cancelled' }
    expect(meaning(cancelled)).toEqual({ ...hard, suppresses: undefined })
  })

  it('[2.4] passes code and retries on unchanged', () => {
    const relayed = (fields: object) => {
      const fact = factOf(bounce(fields))
      return [fact.errorCode, fact.numRetries]
    }
    expect(relayed({ error_code: '0550', num_retries: '0' })).toEqual(['0550', '0'])
    expect(relayed({ error_code: 550, num_retries: 2 })).toEqual(['550', '2'])
    expect(relayed({ error_code: undefined, num_retries: null })).toEqual([undefined, undefined])
    expect(factOf(bounce({ error_code: '' }))).not.toHaveProperty('errorCode')
  })

  it('has the masked words only when the unmasked ones are missing', () => {
    expect(factOf(bounce({ raw_reason: undefined })).reason).toBe(
      '550 5.1.1 <...@...>: no such user',
    )
    expect(factOf(bounce({ raw_reason: undefined, reason: 7 })).reason).toBe('7')
    expect(factOf(bounce({ raw_reason: {}, reason: null })).reason).toBe('')
  })
})

describe('a complaint that was withdrawn', () => {
  it('is no complaint', () => {
    const { message_event: inner } = EVENTS.spamComplaint.msys as Record<string, object>
    const back = { msys: { message_event: { ...inner, fbtype: 'not-spam' } } }
    expect(factOf(back)).toMatchObject({ kind: 'other', type: 'spam_complaint' })
    expect(factOf(back)).not.toHaveProperty('suppresses')
  })
})

describe('a report', () => {
  it('has its own id, with all digits', () => {
    const idOf = (text: string) =>
      sparkpost.callbacks.read(`[{"msys":{"e":{"type":"bounce","event_id":${text}}}}]`)?.[0]?.factId
    expect(idOf('"92356927693813856"')).toBe('92356927693813856')
    expect(idOf('92356927693813856')).toBe('92356927693813856')
    expect(idOf('92356927693813857')).toBe('92356927693813857')
    expect(idOf('12')).toBe('12')
    const digest = /^[\w-]{43}$/
    for (const odd of [
      '""',
      'null',
      '1.5e300',
      '9.2356927693813856e16',
      '{}',
      '[1]',
      'true',
      '1e999',
    ])
      expect(idOf(odd)).toMatch(digest)
    expect(idOf(JSON.stringify('x'.repeat(256)))).toMatch(digest)
    expect(idOf('null')).not.toBe(idOf('""'))
    expect(idOf('null')).toBe(idOf('null'))
  })

  it('has its time in any of three forms', () => {
    const at = (timestamp: unknown) => factOf(bounce({ timestamp })).atMicros
    expect(at(1454442600)).toBe(1_454_442_600_000_000n)
    expect(at('1454442600')).toBe(1_454_442_600_000_000n)
    expect(at('2016-02-02T19:50:00.250Z')).toBe(1_454_442_600_250_000n)
    expect(at('2016-02-02T14:50:00.000-05:00')).toBe(1_454_442_600_000_000n)
    for (const odd of [undefined, null, '', 'now', {}, [], true, -1, '2016-02-30T00:00:00Z', 1e300])
      expect(at(odd)).toBeUndefined()
  })

  it('names its copy, or none', () => {
    const refOf = (meta: unknown) => factOf(bounce({ rcpt_meta: meta })).ref
    expect(refOf({ postrider_ref: `${refId}.12`, other: 1 })).toEqual({ refId, n: 12 })
    for (const odd of [
      undefined,
      null,
      {},
      [],
      'text',
      { postrider_ref: refId },
      { postrider_ref: `${refId}.` },
      { postrider_ref: `${refId}.-1` },
      { postrider_ref: `${refId}.1234567` },
      { postrider_ref: `${refId.toLowerCase()}.1` },
      { postrider_ref: { refId, n: 1 } },
    ])
      expect(refOf(odd)).toBeUndefined()
  })

  it('has the address as it was sent to', () => {
    expect(factOf(bounce({})).email).toBe('Ann@example.net')
    expect(factOf(bounce({ raw_rcpt_to: undefined })).email).toBe('ann@example.net')
    const nobody = factOf(bounce({ raw_rcpt_to: undefined, rcpt_to: undefined }))
    expect(nobody).not.toHaveProperty('email')
  })

  it('keeps its text', () => {
    const written = '{ "msys": {"e": {"type":"bounce", "n": 1.10, "event_id": 92356927693813856}} }'
    expect(sparkpost.callbacks.read(`[ ${written} ]`)?.[0]?.raw).toBe(written)
  })

  it('a report with several events makes as many facts', () => {
    const facts = read({ msys: { a: { type: 'bounce' }, b: { type: 'delivery' } } }) ?? []
    expect(facts.map(({ kind }) => kind)).toEqual(['bounced', 'delivered'])
    expect(new Set(facts.map(({ factId }) => factId)).size).toBe(2)
    expect(facts[0]?.raw).toBe('{"msys":{"a":{"type":"bounce"}}}')
    const classes = Array.from({ length: reportsMax + 1 }, (_, i) => [`c${i}`, { type: 'bounce' }])
    expect(read({ msys: Object.fromEntries(classes) })).toBeUndefined()
    expect(read({ msys: Object.fromEntries(classes.slice(1)) })).toHaveLength(reportsMax)
  })

  it('has text that a database can store', () => {
    const fact = factOf(
      bounce({ raw_reason: 'a\u0000b\ud800', raw_rcpt_to: 'a\u0000@example.net' }),
    )
    expect(fact.reason).toBe('a\ufffdb\ufffd')
    expect(fact.email).toBe('a\ufffd@example.net')
  })
})

describe('a batch of events', () => {
  it('may be a ping, or empty', () => {
    expect(read({ msys: {} })).toEqual([])
    expect(read()).toEqual([])
  })

  it('keeps its order', () => {
    const facts = read(EVENTS.injection, { msys: {} }, EVENTS.delivery, EVENTS.bounce) ?? []
    expect(facts.map(({ kind }) => kind)).toEqual(['processed', 'delivered', 'bounced'])
  })

  it('is refused when it has no event of SparkPost', () => {
    for (const body of [
      '',
      '{}',
      'null',
      '"[]"',
      '[1]',
      '[{}]',
      '[{"msys":[]}]',
      '[{"msys":null}]',
    ])
      expect(sparkpost.callbacks.read(body)).toBeUndefined()
    expect(
      sparkpost.callbacks.read('[{"event":"delivered","email":"a@example.net"}]'),
    ).toBeUndefined()
    const deep = `[{"msys":{"e":{"type":"bounce","x":${'['.repeat(99)}${']'.repeat(99)}}}}]`
    expect(sparkpost.callbacks.read(deep)).toBeUndefined()
  })

  it('keeps its events beside a malformed one', () => {
    const facts = read(EVENTS.bounce, 7, { other: {} }, { msys: { e: 'odd' } }) ?? []
    expect(facts.map(({ kind }) => kind)).toEqual(['bounced', 'other', 'other', 'other'])
  })
})

describe('hostile input', () => {
  const fixtures = [...Object.values(EVENTS), ...OTHERS.map(({ event }) => event)]

  function isSound(fact: RelayFact): boolean {
    const texts = [fact.factId, fact.type, fact.reason, fact.email, fact.errorCode, fact.numRetries]
    return (
      fact.factId !== '' &&
      fact.factId.length <= 255 &&
      texts.every((one) => one === undefined || (one.isWellFormed() && !one.includes('\0')))
    )
  }

  it('is read without an exception: any JSON, any text', () => {
    const body = fc.oneof(
      fc.json(),
      fc.string({ unit: 'binary' }),
      fc.array(fc.json()).map((all) => `[${all.join(',')}]`),
    )
    fc.assert(
      fc.property(body, (text) => {
        expect(sparkpost.callbacks.read(text)?.every(isSound) ?? true).toBe(true)
      }),
    )
  })

  it('is read without an exception: events with anything in place of anything', () => {
    const mutated = fc
      .tuple(fc.constantFrom(...fixtures), fc.nat(), fc.jsonValue({ maxDepth: 3 }))
      .map(([fixture, at, value]) => {
        const [className = '', inner = {}] =
          Object.entries(fixture.msys as Record<string, object>)[0] ?? []
        const names = [...Object.keys(inner), 'postrider_ref', '__proto__']
        const changed = { ...inner, [names[at % names.length] ?? '']: value }
        return { msys: { [className]: changed } }
      })
    fc.assert(
      fc.property(fc.array(mutated, { minLength: 1, maxLength: 5 }), (batch) => {
        const facts = read(...batch)
        expect(facts).toHaveLength(batch.length)
        expect(facts?.every(isSound)).toBe(true)
      }),
    )
  })

  it('is read without an exception: batches that are cut, or lose a character', () => {
    const body = JSON.stringify(fixtures)
    fc.assert(
      fc.property(fc.nat({ max: body.length - 1 }), fc.string({ maxLength: 2 }), (at, inserted) => {
        expect(sparkpost.callbacks.read(body.slice(0, at))).toBeUndefined()
        const changed = sparkpost.callbacks.read(body.slice(0, at) + inserted + body.slice(at + 1))
        expect(changed?.every(isSound) ?? true).toBe(true)
      }),
    )
  })
})
