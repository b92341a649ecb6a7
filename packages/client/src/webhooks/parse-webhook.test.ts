import fc from 'fast-check'
import type { TSchema } from 'typebox'
import { Value } from 'typebox/value'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { eventNames, schemaOf } from '../../test/event-schemas.ts'
import type {
  EventName,
  KnownEvent,
  MailDelivered,
  ReceivedEvent,
  SmtpError,
  UnknownEvent,
} from './event-types.ts'
import { exampleEvent } from './examples.ts'
import { parseWebhook } from './parse-webhook.ts'
import { WebhookError } from './webhook-error.ts'

function refusalOf(body: unknown): WebhookError {
  try {
    parseWebhook(body)
  } catch (error) {
    if (error instanceof WebhookError) return error
    throw error
  }
  throw new Error('not refused')
}

const isAccepted = (body: unknown): boolean => {
  try {
    return parseWebhook(body).length > 0
  } catch {
    return false
  }
}

const delivered = () => exampleEvent('MAIL_DELIVERED')

describe('parseWebhook', () => {
  it('[6.2.1] reads an array as text, bytes, or parsed by a body parser', () => {
    const events = [delivered(), exampleEvent('SMTP_ERROR')]
    const text = JSON.stringify(events)
    const octets = new TextEncoder().encode(text)
    for (const body of [text, octets, Buffer.from(text), events]) {
      expect(parseWebhook(body)).toStrictEqual(events)
    }
  })

  it('[2.7 6.3] reads a single object as one event', () => {
    const event = exampleEvent('DOMAIN_VERIFICATION')
    expect(parseWebhook(JSON.stringify(event))).toStrictEqual([event])
  })

  it('reads a part of a larger buffer, and no more', () => {
    const text = JSON.stringify(delivered())
    const octets = new TextEncoder().encode(`xx${text}yy`)
    expect(parseWebhook(octets.subarray(2, -2))).toStrictEqual([delivered()])
  })

  it('keeps the order, and unknown fields', () => {
    const event = {
      ...delivered(),
      schema_version: 2,
      details: { ...delivered().details, lane: { is: 'new' }, tracking: { colour: 'red' } },
    }
    expect(parseWebhook(JSON.stringify([event, delivered()]))).toStrictEqual([event, delivered()])
  })

  it('accepts an unknown event', () => {
    const event = { event: 'MAIL_DEFERRED', success: false, details: { ref_id: 'r', new: [1] } }
    expect(parseWebhook([event])).toStrictEqual([event])
    const noSuccess = { event: 'toString', details: {} }
    expect(parseWebhook([noSuccess])).toStrictEqual([noSuccess])
  })

  it('[2.6] accepts unknown transports and reasons', () => {
    const event = exampleEvent('MAILER_DEACTIVATED', { config_type: 'jmap', failed_reason: 'new' })
    expect(parseWebhook([event])).toStrictEqual([event])
  })

  it.each<[string, unknown, string]>([
    ['a time that is none', [delivered(), bad({ event_at: 'yesterday' })], '/1/details/event_at'],
    ['a single object', bad({ event_at: 12 }), '/details/event_at'],
    ['a field that is missing', [bad({ ref_id: undefined })], '/0/details/ref_id'],
    ['a recipient that is no string', [bad({ email: ['a@b.test', 1] })], '/0/details/email/1'],
    ['tracking of another kind', [bad({ tracking: { bot: 'no' } })], '/0/details/tracking/bot'],
    ['a success that it is not', [{ ...delivered(), success: false }], '/0/success'],
    ['details that are a list', [{ ...delivered(), details: [] }], '/0/details'],
    ['no name', [{ success: true, details: {} }], '/0/event'],
    ['a name that is empty', [{ event: '', details: {} }], '/0/event'],
    ['a name without end', [{ event: 'A'.repeat(101), details: {} }], '/0/event'],
    ['an unknown event without details', [{ event: 'NEW' }], '/0/details'],
    ['an element that is no object', [delivered(), 'event'], '/1'],
    ['an element that is null', [null], '/0'],
    ['an array in an array', [[delivered()]], '/0'],
    ['an empty array', [], ''],
    ['a number', 1, ''],
    ['null', null, ''],
    ['nothing', undefined, ''],
  ])('refuses %s, and says where', (_, body, path) => {
    const values = body === undefined ? [body] : [body, JSON.stringify(body)]
    for (const value of values) {
      const error = refusalOf(value)
      expect(error).toMatchObject({ name: 'WebhookError', code: 'not_an_event', path })
      expect(error.message).toContain(path)
    }
  })

  it.each<[string, string | Uint8Array]>([
    ['nothing', ''],
    ['half of it', JSON.stringify([delivered()]).slice(0, -5)],
    ['a form', 'event=MAIL_DELIVERED'],
    ['octets that are not UTF-8', Uint8Array.of(0x22, 0xc3, 0x28, 0x22)],
  ])('refuses %s as no JSON, without showing it', (_, body) => {
    const error = refusalOf(body)
    expect(error).toMatchObject({ code: 'not_json', path: '' })
    expect(error.message).not.toContain('MAIL')
  })

  it.each([
    ['{"a":{"__proto__":{"isAdmin":true}}}', '/0/details/custom_args/a/__proto__'],
    ['{"\\u005f_proto__":1}', '/0/details/custom_args/__proto__'],
    ['{"a~/b":[{"__proto__":1}]}', '/0/details/custom_args/a~0~1b/0/__proto__'],
    ['{"constructor":{"prototype":{"isAdmin":true}}}', '/0/details/custom_args/constructor'],
  ])('refuses names that reach a prototype: %s', (customArgs, path) => {
    const body = JSON.stringify([delivered()]).replace('{"order_id":1234}', customArgs)
    expect(refusalOf(body)).toMatchObject({ code: 'not_an_event', path })
    expect(refusalOf(JSON.parse(body))).toMatchObject({ code: 'not_an_event', path })
    expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined()
  })

  it('reads no field of a prototype', () => {
    const details = Object.create(delivered().details)
    expect(refusalOf([{ event: 'MAIL_DELIVERED', success: true, details }]).path).toMatch(
      '/0/details/',
    )
    expect(isAccepted([Object.create(delivered())])).toBe(false)
  })

  it('accepts a `constructor` that is only a name', () => {
    const event = exampleEvent('MAIL_DELIVERED', { custom_args: { constructor: 'Ada Ltd' } })
    expect(parseWebhook(JSON.stringify([event]))).toStrictEqual([event])
  })

  it.each([101, 100_000])('survives %i levels of nesting', (depth) => {
    const nested = `${'['.repeat(depth)}${']'.repeat(depth)}`
    const body = `[{"event":"NEW","details":{"a":${nested}}}]`
    const error = refusalOf(body)
    expect(error.message).toContain('nested deeper')
    expect(error.path.length).toBeLessThanOrEqual(200)
  })

  it('reads 64 levels of nested custom_args within an event', () => {
    const nested = `${'['.repeat(64)}${']'.repeat(64)}`
    expect(isAccepted(`[{"event":"NEW","details":{"custom_args":{"a":${nested}}}}]`)).toBe(true)
  })

  it('ends on a body that is cyclic, or repeats one object often', () => {
    const circle: Record<string, unknown> = { event: 'NEW' }
    circle.details = circle
    expect(refusalOf(circle).message).toContain('nested deeper')
    let doubling: unknown = 'x'
    for (let i = 0; i < 60; i++) doubling = [doubling, doubling]
    expect(refusalOf({ event: 'NEW', details: { doubling } }).message).toContain('values')
  }, 30_000)

  it('refuses the largest body of plain values quickly', () => {
    expect(refusalOf(`[${'0,'.repeat(4_000_000)}0]`)).toMatchObject({ path: '/0' })
  })
})

function bad(details: object): unknown {
  return { ...delivered(), details: { ...delivered().details, ...details } }
}

/** As the contract has it, save for what the parser leaves open and what it asks beyond. */
function opened(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(opened)
  if (typeof schema !== 'object' || schema === null) return schema
  const { additionalProperties: _, enum: values, ...rest } = schema as Record<string, unknown>
  const open = Object.fromEntries(
    Object.entries(rest).map(([key, value]) => [
      key,
      key === 'event_at' ? eventTime : opened(value),
    ]),
  )
  return values === undefined ? open : { ...open, type: 'string' }
}
const eventTime = { type: 'string', pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d' }

describe('parseWebhook and the schemas of the contract', () => {
  const change = fc.record({
    at: fc.nat(),
    value: fc.oneof(
      fc.constant(undefined),
      fc.constantFrom<unknown>(null, true, false, '', 'text', 0, 1, -1, 1.5, [], {}, ['a'], [1]),
      fc.jsonValue(),
    ),
  })

  it.each([...schemaOf])('agree on what is a valid %s', (name, schema) => {
    const open = opened(JSON.parse(JSON.stringify(schema))) as TSchema
    fc.assert(
      fc.property(fc.array(change, { maxLength: 3 }), (changes) => {
        const event: unknown = JSON.parse(JSON.stringify(exampleEvent(name)))
        for (const { at, value } of changes) replace(event, at, value)
        const text = JSON.stringify(event)
        const sent = JSON.parse(text)
        // Another name makes it an event of another kind, with another schema.
        fc.pre(sent.event === name && !text.includes('__proto__'))
        expect(isAccepted(text), text).toBe(Value.Check(open, sent))
      }),
      { numRuns: 300 },
    )
  })

  const OPTIONAL = new Set(['envelope', 'tls', 'arc', 'auto_reply'])

  it('agree that INCOMING_EMAIL has each of its fields, of each type', () => {
    const example = exampleEvent('INCOMING_EMAIL')
    for (const path of pathsOf(example)) {
      for (const value of [undefined, 12.5]) {
        const event = JSON.parse(JSON.stringify(example))
        const [holder, key] = placeOf(event, path)
        // `size` is the one number there is; elements of arrays cannot be missing.
        if (Array.isArray(holder) && value === undefined) continue
        holder[key] = value
        const isSound = value === undefined && OPTIONAL.has(String(key))
        expect(isAccepted(JSON.stringify(event)), `${path} ${value}`).toBe(isSound)
      }
    }
  })
})

type Holder = Record<string, unknown>
type Path = readonly string[]

function pathsOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => [
    [...path, key],
    ...pathsOf(inner, [...path, key]),
  ])
}

function placeOf(event: unknown, path: Path): [Holder, string] {
  const holder = path.slice(0, -1).reduce((at, segment) => at[segment] as Holder, event as Holder)
  return [holder, path.at(-1) ?? '']
}

function replace(event: unknown, at: number, value: unknown): void {
  const paths = [...pathsOf(event), ['more']]
  const [holder, key] = placeOf(event, paths[at % paths.length] ?? ['more'])
  holder[key] = structuredClone(value)
}

describe('a refusal', () => {
  it('is always a WebhookError, bounded, and shows nothing of the body but names', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.jsonValue({ maxDepth: 6 }),
          fc.dictionary(fc.string(), fc.jsonValue()),
          fc.record({ event: fc.string(), details: fc.jsonValue(), success: fc.jsonValue() }),
          fc.array(fc.record({ event: fc.constantFrom(...eventNames), details: fc.object() })),
        ),
        (body) => {
          for (const form of [body, JSON.stringify(body)]) {
            try {
              expect(parseWebhook(form).length).toBeGreaterThan(0)
            } catch (error) {
              expect(error).toBeInstanceOf(WebhookError)
              const { message, path } = error as WebhookError
              expect(path.length).toBeLessThanOrEqual(200)
              expect(message.length).toBeLessThanOrEqual(400)
            }
          }
        },
      ),
      { numRuns: 500 },
    )
  })
})

describe('the types', () => {
  it('narrow by event name, and leave unknown events unknown', () => {
    const [event] = parseWebhook([delivered()])
    if (!event) throw new Error('nothing')
    switch (event.event) {
      case 'MAIL_DELIVERED':
        expectTypeOf(event).toEqualTypeOf<MailDelivered>()
        expect(event.details.ref_id).toBe(delivered().details.ref_id)
        break
      case 'SMTP_ERROR':
        expectTypeOf(event).toEqualTypeOf<SmtpError>()
        expectTypeOf(event.details.attempt).toEqualTypeOf<number>()
        break
      case 'MAIL_OPENED':
      case 'MAIL_CLICKED':
      case 'MAIL_UNSUBSCRIBED':
      case 'MAIL_BOUNCE':
      case 'MAIL_SPAM':
      case 'MAIL_POLICY_REJECTION':
      case 'MAIL_GENERATION_FAILURE':
      case 'MAIL_GENERATION_REJECTION':
      case 'PHISHING':
      case 'MAILER_DEACTIVATED':
      case 'DOMAIN_VERIFICATION':
      case 'IMAP_ERROR':
      case 'INCOMING_EMAIL':
        break
      default:
        expectTypeOf(event).toEqualTypeOf<UnknownEvent>()
        expectTypeOf(event.event).toExtend<string>()
        expectTypeOf(event.details.any).toEqualTypeOf<unknown>()
    }
    expectTypeOf<ReceivedEvent>().toEqualTypeOf<KnownEvent | UnknownEvent>()
    expectTypeOf<EventName>().toEqualTypeOf<KnownEvent['event']>()
  })
})
