/**
 * [D7] Each statement of the transaction that ends an attempt fails once, as databases fail: the
 * answer of the server is told once and whole, whatever it was and whichever statement it hit.
 */
import { createSparkPostServer, type ScriptedAnswer } from '@postrider/testkit'
import { describe, expect, it } from 'vitest'
import { emptyTables } from '../../../test/empty-tables.ts'
import { failingOnce } from '../../../test/failing-once.ts'
import {
  accept,
  attemptsOf,
  drain,
  eventsOf,
  inShort,
  keyRing,
  queueOf,
  recipientsOf,
  useSending,
} from '../../../test/sender.ts'
import { addDomainMailer, addMailer, sealPassword } from '../../../test/sending.ts'
import { createClock } from '../../platform/clock.ts'
import { newId } from '../../platform/ids.ts'
import { createWakeups } from '../../webhooks/index.ts'
import { createFinishAttempts } from '../results/finish-attempts.ts'

const world = useSending()

interface Case {
  /** Of a mail server; */
  readonly script?: readonly string[]
  /** or of a relay provider. */
  readonly relay?: readonly ScriptedAnswer[]
  readonly uncertain?: 'at_most_once'
  readonly password?: string
  /** Its copy belongs in a Sent folder. */
  readonly isFetched?: true
  readonly told: readonly string[]
  readonly copies: number
  readonly status?: string
}

const UNAUTHORIZED = { status: 401, json: { errors: [{ message: 'Unauthorized.' }] } }

const cases: Readonly<Record<string, Case>> = {
  'a mail that is delivered': { script: ['ok'], told: ['MAIL_DELIVERED'], copies: 1 },
  'one of a mailbox that is fetched from': {
    script: ['ok'],
    isFetched: true,
    told: ['MAIL_DELIVERED'],
    copies: 1,
  },
  'one that is deferred first': {
    script: ['450 4.2.0 later', 'ok'],
    told: ['SMTP_ERROR 1 retry', 'MAIL_DELIVERED'],
    copies: 1,
  },
  'one that is refused': { script: ['550 5.1.1 no'], told: ['SMTP_ERROR 1 final'], copies: 0 },
  'one that is uncertain': {
    script: ['dot: rst'],
    uncertain: 'at_most_once',
    told: ['SMTP_ERROR 1 final'],
    copies: 0,
  },
  'a login that is rejected': {
    script: ['ok'],
    password: 'wrong',
    told: ['MAILER_DEACTIVATED', 'SMTP_ERROR 1 final'],
    copies: 0,
  },
  'a mail that a relay takes': { relay: [], told: [], copies: 1, status: 'sent' },
  'one that it defers first': {
    relay: [{ status: 503 }],
    told: ['SMTP_ERROR 1 retry'],
    copies: 1,
    status: 'sent',
  },
  'one that it answers with silence first': {
    relay: [{ ending: 'rst' }],
    told: ['SMTP_ERROR 1 retry'],
    copies: 1,
    status: 'sent',
  },
  'a key that it rejects': {
    relay: [UNAUTHORIZED, UNAUTHORIZED],
    told: ['MAILER_DEACTIVATED', 'SMTP_ERROR 1 final'],
    copies: 0,
  },
}

/** A mailer of its own, and what it has handed over. */
async function setUp({ script, relay, uncertain, password, isFetched }: Case) {
  if (relay !== undefined) {
    const provider = await createSparkPostServer()
    const left = [...relay]
    provider.setScript(() => left.shift())
    const domain = `${newId('domain').slice(-8).toLowerCase()}.example.com`
    provider.domains.add(domain)
    await world.db.query('delete from mailers_mailer')
    await world.db.query('delete from relays_account')
    const { apiBase, apiKey } = provider
    const { mailerId } = await addDomainMailer(world.db, {
      domain,
      relay: 'sparkpost',
      apiBase,
      apiKey,
    })
    const { mails, close } = provider
    return { mailerId, from: `news@${domain}`, copies: () => mails.length, close }
  }
  const users = { 'news@example.com': 'right' }
  const server = await world.serve(
    script === undefined ? {} : { 'ada@example.com': script },
    password === undefined ? {} : { auth: { users } },
  )
  const key = { tenantId: 'tn_a', mailerId: newId('smtp') }
  await addMailer(world.db, {
    ...key,
    port: server.port,
    ...(uncertain === undefined ? {} : { uncertain }),
    ...(isFetched === undefined ? {} : { configType: 'smtp_imap' }),
    ...(password === undefined
      ? {}
      : { username: 'news@example.com', secret: sealPassword(keyRing, key, password) }),
  })
  const copies = () => server.accepted
  return { mailerId: key.mailerId, from: 'news@example.com', copies, close: async () => undefined }
}

const STATEMENTS_MAX = 60

describe.each([
  ['a serialization failure', '40001'],
  ['a deadlock', '40P01'],
  ['a statement_timeout', '57014'],
])('[D7] %s in each statement of a finish', (_, state) => {
  it.each(Object.keys(cases))(
    'is repeated or recovered, and the attempt is told once: %s',
    async (name) => {
      const one = cases[name] as Case
      const { told, copies, status = copies === 1 ? 'delivered' : 'failed' } = one
      const isRejected = told.includes('MAILER_DEACTIVATED')
      for (let n = 1; ; n++) {
        if (n > STATEMENTS_MAX) throw new Error('no end of statements')
        const used = await setUp(one)
        const refId = await accept(world.db, {
          mailer_id: used.mailerId,
          from: { email: used.from },
        })
        const { db, seen } = failingOnce(world.db, n, state)
        const noted: string[] = []
        const finishes = createFinishAttempts({
          db,
          clock: createClock(),
          wakeups: createWakeups(),
          noteDeactivated: ({ reason }) => noted.push(reason),
          retryMs: 1,
        })
        await drain(world.db, world.sender({ finishes }))

        expect(await queueOf(world.db)).toEqual([])
        const events = await eventsOf(world.db)
        const own = events.filter(({ details }) =>
          [refId, undefined].includes(details.ref_id as string | undefined),
        )
        const where = `statement ${n}`
        expect(own.map(inShort).toSorted(), where).toEqual(told.toSorted())
        expect(noted, where).toEqual(isRejected ? ['provider_auth_error'] : [])
        expect(used.copies(), where).toBe(copies)
        const { rows: sentCopies } = await world.db.query(
          'delete from sending_sent_copy returning ref_id',
        )
        expect(sentCopies, where).toEqual(one.isFetched === true ? [{ ref_id: refId }] : [])
        await used.close()
        const attempts = await attemptsOf(world.db, refId)
        expect(
          attempts.map(({ attempt }) => attempt),
          where,
        ).toEqual(attempts.map((__, i) => i + 1))
        expect(await recipientsOf(world.db, refId), where).toMatchObject([
          { status, attempts: attempts.length },
        ])
        await emptyTables(world.db, 'webhooks_event')
        if (!seen.hasFailed) {
          expect(n).toBeGreaterThan(4)
          return
        }
      }
    },
  )
})
