import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { eventNames, schemaOf } from '../../test/event-schemas.ts'
import { dedupKey } from './dedup-key.ts'
import type { EmailMessageEvent, EventName, ReceivedEvent } from './event-types.ts'
import { exampleEvent } from './examples.ts'
import { parseWebhook } from './parse-webhook.ts'

const emailEvents = [...schemaOf.keys()].filter(
  (name): name is EmailMessageEvent['event'] => 'ref_id' in exampleEvent(name).details,
)

const unknown = (details: Record<string, unknown>): ReceivedEvent => {
  const [event] = parseWebhook({ event: 'MAIL_DEFERRED', details })
  if (!event) throw new Error('nothing')
  return event
}

/** The key of an example with other details. */
function keyWith(name: EventName, details: object): string {
  return dedupKey(exampleEvent(name, details as never))
}

describe('dedupKey', () => {
  it('[6.2.7] distinguishes events of an email by ref_id, event and event_at only', () => {
    expect(emailEvents).toHaveLength(11)
    const word = fc.string({ maxLength: 6 })
    const event = fc.record({
      name: fc.constantFrom(...emailEvents),
      ref_id: fc.oneof(word, fc.constantFrom('a', '"', '","', '\\', ',')),
      event_at: fc.oneof(word, fc.constantFrom('a', '"', '","', '\\', ',')),
      attempt: fc.integer({ min: 1, max: 3 }),
      webhook_id: word,
      message_id: word,
    })
    fc.assert(
      fc.property(event, event, (one, other) => {
        const [a, b] = [one, other].map(({ name, attempt, ...details }) => {
          const isAttempt = name === 'SMTP_ERROR'
          const key = keyWith(name, isAttempt ? { ...details, attempt } : details)
          return { key, id: [name, details.ref_id, details.event_at, isAttempt && attempt] }
        })
        expect(a?.key === b?.key).toBe(JSON.stringify(a?.id) === JSON.stringify(b?.id))
      }),
      { numRuns: 1_000 },
    )
  })

  it('[6.2.7] distinguishes the attempts of one failing send', () => {
    const keys = [1, 2, 3].map((attempt) => keyWith('SMTP_ERROR', { attempt }))
    expect(new Set(keys).size).toBe(3)
  })

  it.each<[EventName, object[]]>([
    ['IMAP_ERROR', [{ mailer_id: 'm' }, { event_at: '2026-11-20T13:01:03Z' }]],
    [
      'MAILER_DEACTIVATED',
      [
        { mailer_id: 'm' },
        { config_type: 'oauth_smtp' },
        { failed_reason: 'oauth_revoked' },
        { provider_error: '535 other' },
        { provider_error: undefined },
      ],
    ],
    ['DOMAIN_VERIFICATION', [{ domain: 'd.test' }, { mailer_id: 'm' }, { verified: false }]],
    ['INCOMING_EMAIL', [{ inbound_id: 'in_2' }]],
  ])('distinguishes %s by its own fields', (name, others) => {
    const keys = [{}, ...others].map((details) => keyWith(name, details))
    expect(new Set(keys).size).toBe(others.length + 1)
  })

  it.each(eventNames)('is the same for a %s that is repeated or replayed elsewhere', (name) => {
    const key = dedupKey(exampleEvent(name))
    expect(dedupKey(exampleEvent(name))).toBe(key)
    const { event, ...rest } = exampleEvent(name)
    const replayed = { ...rest, event, details: { ...rest.details, webhook_id: 'wh_2', new: 1 } }
    for (const one of parseWebhook([replayed])) expect(dedupKey(one)).toBe(key)
  })

  it('differs for any two kinds of event', () => {
    expect(new Set(eventNames.map((name) => dedupKey(exampleEvent(name)))).size).toBe(15)
  })

  it('uses ref_id and event_at of an unknown event, else all its fields', () => {
    const timed = { ref_id: 'r', event_at: '2026-11-20T13:01:02Z' }
    const key = dedupKey(unknown(timed))
    expect(dedupKey(unknown({ ...timed, webhook_id: 'wh_2', lane: 'x' }))).toBe(key)
    expect(dedupKey(unknown({ ...timed, attempt: 2 }))).not.toBe(key)
    const other = dedupKey(unknown({ mailer_id: 'm', state: 'on' }))
    expect(dedupKey(unknown({ mailer_id: 'm', state: 'on', webhook_id: 'wh_2' }))).toBe(other)
    expect(dedupKey(unknown({ mailer_id: 'm', state: 'off' }))).not.toBe(other)
    expect(dedupKey(unknown({ ref_id: 'r', state: 'on' }))).not.toBe(
      dedupKey(unknown({ ref_id: 'r', state: 'off' })),
    )
  })

  it('is bounded, and distinguishes long fields of different length', () => {
    const [a, b] = [5_000, 5_001].map((length) =>
      keyWith('MAILER_DEACTIVATED', { provider_error: '\u{1f4ee}'.repeat(length) }),
    )
    expect(a).not.toBe(b)
    expect(a?.length).toBeLessThan(500)
    for (const name of eventNames) expect(dedupKey(exampleEvent(name)).length).toBeLessThan(500)
  })
})
