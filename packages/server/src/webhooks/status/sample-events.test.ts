import {
  domainVerification,
  emailEvent,
  eventNames,
  imapError,
  incomingEmail,
} from '@postrider/contract'
import { Check } from 'typebox/value'
import { describe, expect, it } from 'vitest'
import { serializeEvent, serializeRequest } from '../events/event.ts'
import { sampleEvent } from './sample-events.ts'

const NOW = new Date('2026-11-20T13:01:02.123Z')
const OTHERS = {
  DOMAIN_VERIFICATION: domainVerification,
  IMAP_ERROR: imapError,
  INCOMING_EMAIL: incomingEmail,
} as const

function sent(name: (typeof eventNames)[number], owner = '') {
  const sample = sampleEvent(name, owner, NOW)
  const event = { ...sample, tenantId: 'tn_a', eventAtMicros: 0n, traceparent: '' }
  const body = serializeEvent(event, BigInt(NOW.getTime()) * 1000n)
  return JSON.parse(serializeRequest('single', [{ body }], 'wh_1'))
}

describe.each(eventNames)('the test event %s', (name) => {
  it.each(['', 'imap_01JD4M8W6ZQ3V5T7X9Y2A4C6E8'])(
    'is as the contract says, and says that it is a test (owner "%s")',
    (owner) => {
      const event = sent(name, owner)
      const schema = name in OTHERS ? OTHERS[name as keyof typeof OTHERS] : emailEvent
      expect([event, Check(schema, event)]).toEqual([event, true])
      expect(event).toMatchObject({ event: name, details: { test: true } })
    },
  )
})
