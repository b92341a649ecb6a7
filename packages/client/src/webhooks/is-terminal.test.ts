import { describe, expect, it } from 'vitest'
import { eventNames } from '../../test/event-schemas.ts'
import { exampleEvent } from './examples.ts'
import { isTerminal } from './is-terminal.ts'
import { parseWebhook } from './parse-webhook.ts'

describe('isTerminal', () => {
  it('[6.4.3] reads retry_scheduled of a failed attempt, never its counters', () => {
    const failed = (attempt: number, retry_scheduled: boolean) =>
      isTerminal(exampleEvent('SMTP_ERROR', { attempt, max_attempts: 5, retry_scheduled }))
    expect(failed(1, true)).toBe(false)
    expect(failed(5, true)).toBe(false)
    expect(failed(1, false)).toBe(true)
    expect(failed(5, false)).toBe(true)
  })

  it('is true for events that end a send, and for no others', () => {
    expect(eventNames.filter((name) => isTerminal(exampleEvent(name)))).toStrictEqual([
      'MAIL_DELIVERED',
      'MAIL_BOUNCE',
      'MAIL_POLICY_REJECTION',
      'MAIL_GENERATION_FAILURE',
      'MAIL_GENERATION_REJECTION',
      'PHISHING',
    ])
  })

  it('is undefined for an unknown event', () => {
    const unknown = { event: 'MAIL_EXPIRED', details: { retry_scheduled: false } }
    expect(parseWebhook(unknown).map(isTerminal)).toStrictEqual([false])
  })
})
