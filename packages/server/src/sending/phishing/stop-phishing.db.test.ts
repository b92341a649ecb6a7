import { emailEvent } from '@postrider/contract'
import { createPhishingScanner, type ScannedContent, type ScanResult } from '@postrider/mail'
import { Check } from 'typebox/value'
import { describe, expect, it } from 'vitest'
import {
  accept,
  attemptsOf,
  drain,
  eventsOf,
  inShort,
  queueOf,
  recipientsOf,
  useSending,
} from '../../../test/sender.ts'
import { addMailer } from '../../../test/sending.ts'
import { createLogger } from '../../platform/log.ts'
import { createPhishingCheck, type PhishingCheck, type PhishingOutcome } from './check-phishing.ts'
import { createFreshSettings } from './fresh-settings.ts'
import { updateSettings } from './update-settings.ts'

const world = useSending()
const silent = createLogger({ level: 'silent' })
const scanner = createPhishingScanner()

const html = (value: string) => ({ content: [{ type: 'text/html' as const, value }] })
const PHISH = html('<a href="https://x.test/login">https://www.paypal.com/signin</a>')
const REASON =
  'Stopped by phishing protection: a link shows www.paypal.com and leads to x.test (score 65, threshold 60)'

/** A check that counts, with settings that are never older than this instant. */
function countingCheck(
  scan: (tenantId: string, content: ScannedContent) => Promise<ScanResult> = scanner.scan,
) {
  const counts = { scans: 0, outcomes: [] as PhishingOutcome[] }
  let now = 0
  const phishing: PhishingCheck = createPhishingCheck({
    settings: createFreshSettings({ db: world.db, monotonicMs: () => (now += 10_000) }),
    scanner: {
      scan(tenantId, content) {
        counts.scans += 1
        return scan(tenantId, content)
      },
    },
    log: silent,
    observe: (outcome) => counts.outcomes.push(outcome),
  })
  return { phishing, counts }
}

describe('[6.4.7] an email that is flagged', () => {
  it('is stopped: PHISHING, blocked, no attempt, and no connection to a server', async () => {
    const { db } = world
    const server = await world.serve()
    const { mailerId } = await addMailer(db, { port: server.port })
    const refId = await accept(db, { ...PHISH, custom_args: { order: 7 } })
    await drain(db, world.sender())

    const [event, ...others] = await eventsOf(db)
    expect(others).toEqual([])
    expect(event).toEqual({
      event: 'PHISHING',
      success: false,
      details: {
        ref_id: refId,
        mailer_id: mailerId,
        email: ['ada@example.com'],
        custom_args: { order: 7 },
        message_id: '',
        thread_id: '',
        tracking: expect.objectContaining({ bot: false, time: '' }),
        failed_reason: REASON,
        event_at: expect.any(String),
      },
    })
    expect(
      Check(emailEvent, { ...event, details: { ...event?.details, webhook_id: 'wh_1' } }),
    ).toBe(true)
    expect(await recipientsOf(db, refId)).toMatchObject([
      { status: 'blocked', attempts: 0, failed_reason: REASON, delivered: false },
    ])
    expect(await attemptsOf(db, refId)).toEqual([])
    expect(await queueOf(db)).toEqual([])
    expect(server.connections).toEqual([])
  })

  it('is scanned once, and stopped for each recipient', async () => {
    const { db } = world
    const server = await world.serve()
    await addMailer(db, { port: server.port })
    const to = Array.from({ length: 120 }, (_, i) => ({ email: `r${i}@example.com` }))
    const refId = await accept(db, { ...PHISH, to })
    const { phishing, counts } = countingCheck()
    await drain(db, world.sender({ phishing }))
    const events = await eventsOf(db, refId)
    expect(events.map(({ event }) => event)).toEqual(to.map(() => 'PHISHING'))
    expect(new Set(events.map(({ details }) => details.email[0])).size).toBe(120)
    expect(new Set(events.map(({ details }) => details.event_at)).size).toBe(120)
    expect(counts.outcomes).toEqual(to.map(() => 'score'))
    // Once for each claim that found none of its rows held; they overlap.
    expect(counts.scans).toBeLessThan(10)
    expect(server.connections).toEqual([])
  })

  it('is stopped for an attached page', async () => {
    const { db } = world
    const server = await world.serve()
    await addMailer(db, { port: server.port })
    const page = Buffer.from('<form><input type=password></form>').toString('base64')
    const files = [
      { filename: 'a.txt', content: page },
      { filename: 'Invoice.HTM', content: page },
    ]
    await accept(db, { attachments: files.slice(0, 1) })
    await accept(db, { attachments: files })
    await drain(db, world.sender())
    expect((await eventsOf(db)).map(inShort).sort()).toEqual(['MAIL_DELIVERED', 'PHISHING'])
  })

  it('is stopped before a retry, and keeps its failed attempt on record', async () => {
    const { db } = world
    const server = await world.serve({ 'ada@example.com': ['450 4.2.1 later'] })
    await addMailer(db, { port: server.port })
    const refId = await accept(db, html('<a href="https://later.example">x</a>'))
    const sender = world.sender({ phishing: countingCheck().phishing })
    await sender.runOnce()
    await updateSettings({ db }, 'tn_a', { blocked_domains: ['later.example'] })
    await drain(db, sender)
    const events = await eventsOf(db)
    expect(events[0] && inShort(events[0])).toBe('SMTP_ERROR 1 retry')
    expect(events.at(-1)?.event).toBe('PHISHING')
    const failed = events.filter(({ event }) => event === 'SMTP_ERROR').length
    expect(await attemptsOf(db, refId)).toHaveLength(failed)
    expect(await recipientsOf(db, refId)).toMatchObject([{ status: 'blocked', attempts: failed }])
  })

  it('is stopped when the scan exceeds its limits', async () => {
    const { db } = world
    const server = await world.serve()
    await addMailer(db, { port: server.port })
    await accept(db)
    const { phishing, counts } = countingCheck(async () => ({ kind: 'too-much' }))
    await drain(db, world.sender({ phishing }))
    expect((await eventsOf(db)).map(inShort)).toEqual(['PHISHING'])
    expect(counts.outcomes).toEqual(['too_much'])
  })
})

describe('the settings of a tenant', () => {
  const sent = async (tenantId = 'tn_a') => {
    const { db } = world
    const { phishing } = countingCheck()
    await accept(db, PHISH, tenantId)
    await drain(db, world.sender({ phishing }))
    return (await eventsOf(db)).at(-1)?.event
  }

  it('decide for their tenant alone: off, another threshold, blocked domains', async () => {
    const { db } = world
    const server = await world.serve()
    await addMailer(db, { port: server.port })
    await addMailer(db, { port: server.port, tenantId: 'tn_b' })
    expect(await sent()).toBe('PHISHING')
    await updateSettings({ db }, 'tn_a', { enabled: false, blocked_domains: ['x.test'] })
    expect(await sent()).toBe('MAIL_DELIVERED')
    expect(await sent('tn_b')).toBe('PHISHING')
    await updateSettings({ db }, 'tn_a', { enabled: true })
    expect(await sent()).toBe('PHISHING')
    await updateSettings({ db }, 'tn_a', { threshold: 66, blocked_domains: [] })
    expect(await sent()).toBe('MAIL_DELIVERED')
  })

  it('save the scan when they are off', async () => {
    const { db } = world
    const server = await world.serve()
    await addMailer(db, { port: server.port })
    await updateSettings({ db }, 'tn_a', { enabled: false })
    await accept(db)
    const { phishing, counts } = countingCheck()
    await drain(db, world.sender({ phishing }))
    expect(counts).toEqual({ scans: 0, outcomes: ['off'] })
  })
})

it('keeps mail waiting without an event or an attempt while the scanner is away', async () => {
  const { db } = world
  const server = await world.serve()
  await addMailer(db, { port: server.port })
  const refId = await accept(db)
  let isBroken = true
  const { phishing, counts } = countingCheck((tenantId, content) =>
    isBroken ? Promise.reject(new Error('no thread')) : scanner.scan(tenantId, content),
  )
  const sender = world.sender({ phishing })
  await sender.runOnce()
  expect(await eventsOf(db)).toEqual([])
  expect(await queueOf(db)).toMatchObject([{ phase: 'waiting', attempt: 1, interrupted: 0 }])
  isBroken = false
  await db.query('update sending_queue set due_at = now()')
  await drain(db, sender)
  expect((await eventsOf(db)).map(inShort)).toEqual(['MAIL_DELIVERED'])
  expect(await recipientsOf(db, refId)).toMatchObject([{ status: 'delivered', attempts: 1 }])
  expect(counts.outcomes).toEqual(['unknown', 'passed'])
})
