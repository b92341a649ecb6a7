/**
 * Rejected logins, and what becomes of their mailer and its mail (docs/reference/mailers.md#deactivation).
 */
import type { SmtpScript } from '@postrider/testkit'
import { describe, expect, it } from 'vitest'
import { untilBlocked } from '../../../test/blocked.ts'
import {
  accept,
  attemptsOf,
  drain,
  eventsOf,
  inShort,
  keyRing,
  queueOf,
  recipientsOf,
  TRACEPARENT,
  useSending,
} from '../../../test/sender.ts'
import { addMailer, changeState, sealPassword } from '../../../test/sending.ts'
import { type Deactivated, settleRejectedLogins } from '../../mailers/index.ts'
import { createClock } from '../../platform/clock.ts'
import { newId } from '../../platform/ids.ts'

const world = useSending()
const USERNAME = 'news@example.com'
const REJECTED = '535 5.7.8 Authentication credentials invalid'
const users = { [USERNAME]: 'right' }

/** A mailer with a login, on a server that knows a password. */
async function setUp(o: { password?: string; script?: SmtpScript; port?: number } = {}) {
  const server = await world.serve(o.script, { auth: { users } })
  return { server, ...(await loginTo(o.port ?? server.port, o.password ?? 'wrong')) }
}

async function loginTo(port: number, password: string, mailerId = newId('smtp')) {
  const key = { tenantId: 'tn_a', mailerId }
  const mailer = await addMailer(world.db, {
    ...key,
    port,
    username: USERNAME,
    secret: sealPassword(keyRing, key, password),
  })
  return { mailer, mailerId }
}

async function stateOf(mailerId: string) {
  const { rows } = await world.db.query<Record<string, unknown>>(
    'select state, state_reason, state_evidence from mailers_mailer where mailer_id = $1',
    [mailerId],
  )
  return rows[0]
}

const shorts = async () => (await eventsOf(world.db)).map(inShort).sort()
const onAuth =
  (reply: string): SmtpScript =>
  ({ phase }) =>
    phase === 'auth' ? reply : undefined

describe('a login that is rejected twice', () => {
  it('[interface 3, 2.6] deactivates the mailer in the transaction of its final attempt', async () => {
    const { db } = world
    const { server, mailerId } = await setUp()
    const refId = await accept(db)
    const noted: Deactivated[] = []
    await drain(db, world.sender({ noteDeactivated: (one) => noted.push(one) }))
    expect(server.connections).toHaveLength(2)
    const evidence = expect.stringMatching(/^535 /)
    expect(noted).toEqual([{ tenantId: 'tn_a', mailerId, reason: 'provider_auth_error', evidence }])
    expect(await stateOf(mailerId)).toEqual({
      state: 'deactivated',
      state_reason: 'provider_auth_error',
      state_evidence: evidence,
    })
    const events = await eventsOf(db)
    expect(events.map(inShort).sort()).toEqual(['MAILER_DEACTIVATED', 'SMTP_ERROR 1 final'])
    expect(events.find((one) => inShort(one) === 'MAILER_DEACTIVATED')).toEqual({
      event: 'MAILER_DEACTIVATED',
      success: false,
      details: {
        mailer_id: mailerId,
        config_type: 'smtp',
        failed_reason: 'provider_auth_error',
        provider_error: evidence,
      },
    })
    expect(await attemptsOf(db, refId)).toMatchObject([
      {
        attempt: 1,
        outcome: 'failed',
        category: 'auth_rejected',
        failed_reason: "The mail server rejected the mailer's login",
        retry_scheduled: false,
      },
    ])
    const { rows } = await db.query('select traceparent from webhooks_event')
    expect(rows).toEqual([{ traceparent: TRACEPARENT }, { traceparent: TRACEPARENT }])
  })

  it('[contract 5] stops all other mail of the mailer, and tries no login for it', async () => {
    const { db } = world
    const { server, mailerId } = await setUp()
    const refIds = await Promise.all(Array.from({ length: 12 }, () => accept(db)))
    const noted: string[] = []
    const sender = world.sender({ noteDeactivated: (one) => noted.push(one.mailerId) })
    await sender.runOnce()
    await sender.runOnce()
    expect(await shorts()).toEqual(['MAILER_DEACTIVATED', 'SMTP_ERROR 1 final'])
    expect(noted).toEqual([mailerId])
    expect(await queueOf(db)).toHaveLength(11)
    expect(
      (await queueOf(db)).every(({ phase, attempt }) => phase === 'waiting' && attempt === 1),
    ).toBe(true)
    // Those that began together, and the one second try.
    expect(server.connections.length).toBeLessThanOrEqual(5 + 1)
    const statuses = (await Promise.all(refIds.map((id) => recipientsOf(db, id)))).flat()
    expect(statuses.filter(({ status }) => status === 'failed')).toHaveLength(1)
    expect(await stateOf(mailerId)).toMatchObject({ state: 'deactivated' })
  })

  it('deactivates in one transaction with the attempt: both are stored or neither', async () => {
    const { db } = world
    const { mailerId } = await setUp()
    await accept(db)
    await db.query(
      `create function refuse() returns trigger language plpgsql as
         $$ begin raise exception 'no attempts now'; end $$`,
    )
    await db.query(
      'create trigger refuse before insert on sending_attempt for each row execute function refuse()',
    )
    try {
      const noted: Deactivated[] = []
      await world.sender({ noteDeactivated: (one) => noted.push(one) }).runOnce()
      expect(await stateOf(mailerId)).toMatchObject({ state: 'active' })
      expect(await eventsOf(db)).toEqual([])
      expect(noted).toEqual([])
    } finally {
      await db.query('drop trigger refuse on sending_attempt')
      await db.query('drop function refuse')
    }
  })

  it.each([
    ['is not active any more', `update mailers_mailer set state = 'deactivated'`],
    ['has another configuration by now', 'update mailers_mailer set config_version = 2'],
    ['is gone', 'delete from mailers_mailer'],
  ])('changes nothing where the mailer %s', async (_, meanwhile) => {
    const { db } = world
    let connections = 0
    const { mailer } = await setUp({
      script: ({ phase }) => {
        if (phase !== 'auth') return undefined
        connections += 1
        return connections === 2 ? { reply: REJECTED, after: db.query(meanwhile) } : REJECTED
      },
    })
    await accept(db)
    await world.sender().runOnce()
    expect(await shorts()).toEqual([])
    expect(await queueOf(db)).toMatchObject([{ phase: 'waiting', attempt: 1 }])
    if (meanwhile.includes('version'))
      expect(await stateOf(mailer.mailerId)).toMatchObject({ state: 'active' })
  })

  it('does not undo an activation that came later', async () => {
    const { db } = world
    const key = { tenantId: 'tn_a', mailerId: newId('smtp') }
    const change = (cause: Parameters<typeof changeState>[3]) =>
      db.transaction((tx) => changeState(tx, createClock(), key, cause))
    let logins = 0
    const script: SmtpScript = ({ phase }) => {
      if (phase !== 'auth') return undefined
      logins += 1
      if (logins !== 2) return REJECTED
      const meanwhile = change({ kind: 'switched', to: 'disabled' }).then(() =>
        change({ kind: 'switched', to: 'active' }),
      )
      return { reply: REJECTED, after: meanwhile }
    }
    const server = await world.serve(script, { auth: { users } })
    await loginTo(server.port, 'wrong', key.mailerId)
    await accept(db)
    await world.sender().runOnce()
    expect(await stateOf(key.mailerId)).toMatchObject({ state: 'active' })
    expect(await shorts()).toEqual([])
  })

  it('deactivates nothing where the claim was lost', async () => {
    const { db } = world
    const { mailerId } = await setUp({
      script: ({ phase }) =>
        phase === 'auth'
          ? { reply: REJECTED, after: db.query('update sending_queue set fence = fence + 1') }
          : undefined,
    })
    await accept(db)
    await world.sender().runOnce()
    expect(await stateOf(mailerId)).toMatchObject({ state: 'active' })
    expect(await shorts()).toEqual([])
  })

  it('is reported once by two senders that find it at the same time', async () => {
    const { db } = world
    const { server } = await setUp()
    for (let i = 0; i < 6; i += 1) await accept(db)
    await Promise.all([world.sender().runOnce(), world.sender().runOnce()])
    expect(server.connections.length).toBeGreaterThan(2)
    expect(await shorts()).toEqual(['MAILER_DEACTIVATED', 'SMTP_ERROR 1 final'])
  })
})

describe('the second login within the attempt', () => {
  it('[contract 1] delivers when it succeeds', async () => {
    const { db } = world
    let logins = 0
    const { server, mailerId } = await setUp({
      password: 'right',
      script: ({ phase }) => (phase === 'auth' && ++logins === 1 ? REJECTED : undefined),
    })
    const refId = await accept(db)
    await drain(db, world.sender())
    expect(await shorts()).toEqual(['MAIL_DELIVERED'])
    expect((await attemptsOf(db, refId)).map(({ attempt }) => attempt)).toEqual([1])
    expect(server.connections).toHaveLength(2)
    expect(await stateOf(mailerId)).toMatchObject({ state: 'active' })
  })

  it.each([
    ['is put off', '454 4.7.0 Temporary authentication failure'],
    ['ends the connection', '421 4.7.0 Try again later'],
    ['blames its backend', '535 5.7.139 The federated STS service was unreachable'],
  ])('deactivates nothing where the server %s', async (_, reply) => {
    const { db } = world
    let logins = 0
    const { mailerId } = await setUp({
      script: ({ phase }) => (phase === 'auth' ? (++logins === 1 ? REJECTED : reply) : undefined),
    })
    await accept(db, { settings: { max_attempts: 1 } })
    await drain(db, world.sender())
    expect(await shorts()).toEqual(['SMTP_ERROR 1 final'])
    expect(await stateOf(mailerId)).toMatchObject({ state: 'active' })
  })

  it('[M13] deactivates nothing where the server closes the connection', async () => {
    const { db } = world
    let logins = 0
    const { mailerId } = await setUp({
      script: ({ phase }) =>
        phase === 'auth' ? (++logins === 1 ? REJECTED : { ending: 'rst' }) : undefined,
    })
    await accept(db, { settings: { max_attempts: 1 } })
    await drain(db, world.sender())
    expect(await stateOf(mailerId)).toMatchObject({ state: 'active' })
  })

  it('is not made where waiting cannot help', async () => {
    const { db } = world
    const reply = '535 5.7.139 SmtpClientAuthentication is disabled for the Tenant'
    const { server, mailerId } = await setUp({ script: onAuth(reply) })
    await accept(db)
    await drain(db, world.sender())
    expect(server.connections).toHaveLength(1)
    expect(await stateOf(mailerId)).toMatchObject({ state: 'deactivated', state_evidence: reply })
  })

  it('is made within the attempt only: without time for it nothing is decided', async () => {
    const { db } = world
    const { mailerId } = await setUp()
    await accept(db)
    await world.sender({ timeoutMs: 2_000, authConfirmDelayMs: 60_000 }).runOnce()
    expect(await shorts()).toEqual([])
    expect(await queueOf(db)).toMatchObject([{ phase: 'waiting', attempt: 1 }])
    expect(await stateOf(mailerId)).toMatchObject({ state: 'active' })
  })
})

describe('a login that the server demands at MAIL (530)', () => {
  const demand: SmtpScript = ({ phase }) =>
    phase === 'mail' ? '530 5.7.0 Authentication required' : undefined

  it('deactivates a mailer without a login when it is demanded twice', async () => {
    const { db } = world
    const server = await world.serve(demand)
    const { mailerId } = await addMailer(db, { port: server.port })
    await accept(db)
    await drain(db, world.sender())
    expect(server.connections).toHaveLength(2)
    expect(await shorts()).toEqual(['MAILER_DEACTIVATED', 'SMTP_ERROR 1 final'])
    expect(await stateOf(mailerId)).toMatchObject({ state: 'deactivated' })
  })

  it('deactivates nothing when it is demanded once, and the mail is sent', async () => {
    const { db } = world
    let mails = 0
    const server = await world.serve((c) =>
      c.phase === 'mail' && ++mails === 1 ? demand(c) : undefined,
    )
    await addMailer(db, { port: server.port })
    await accept(db)
    await drain(db, world.sender())
    expect(await shorts()).toEqual(['MAIL_DELIVERED'])
  })

  it('deactivates nothing when it is demanded at RCPT, which is about the recipient', async () => {
    const { db } = world
    const server = await world.serve(({ phase }) =>
      phase === 'rcpt' ? '530 5.7.0 Authentication required' : undefined,
    )
    const { mailerId } = await addMailer(db, { port: server.port })
    await accept(db)
    await drain(db, world.sender())
    expect(await shorts()).toEqual(['SMTP_ERROR 1 final'])
    expect(await stateOf(mailerId)).toMatchObject({ state: 'active' })
  })
})

describe('[M13] a failure that is no rejected login', () => {
  it.each([
    ['454 4.7.0 Temporary authentication failure', 'auth_temporary'],
    ['421 4.7.0 Too many login attempts', 'auth_throttled'],
    ['535 5.7.139 The federated STS service was unreachable', 'auth_temporary'],
    ['454 Throttling failure: Daily message quota exceeded', 'sender_quota_exhausted'],
  ])('deactivates nothing: %s', async (reply, category) => {
    const { db } = world
    const { mailerId } = await setUp({ script: onAuth(reply) })
    const refId = await accept(db, { settings: { max_attempts: 1 } })
    await drain(db, world.sender())
    expect(await attemptsOf(db, refId)).toMatchObject([{ category }])
    expect(await shorts()).toEqual(['SMTP_ERROR 1 final'])
    expect(await stateOf(mailerId)).toMatchObject({ state: 'active' })
  })

  it('deactivates nothing: a cut AUTH, a refused connection, a broken STARTTLS', async () => {
    const { db } = world
    const script: SmtpScript = ({ phase }) => (phase === 'auth' ? { ending: 'fin' } : undefined)
    await setUp({ script })
    await setUp({ port: 1 })
    await accept(db, { settings: { max_attempts: 2 } })
    await drain(db, world.sender())
    expect(await shorts()).toEqual(['SMTP_ERROR 1 retry', 'SMTP_ERROR 2 final'])
    const { rows } = await db.query('select distinct state from mailers_mailer')
    expect(rows).toEqual([{ state: 'active' }])
  })
})

describe('many mailers of one server that are rejected at once', () => {
  const emails = (n: number) => Array.from({ length: n }, (_, i) => `m${i}@example.com`)

  async function rejectedMailers(n: number, port: number, o: { everWorked?: boolean } = {}) {
    for (const email of emails(n)) {
      const key = { tenantId: 'tn_a', mailerId: newId('smtp') }
      await addMailer(world.db, {
        ...key,
        email,
        hostEverWorked: o.everWorked ?? true,
        port,
        username: USERNAME,
        secret: sealPassword(keyRing, key, 'right'),
      })
      await accept(world.db, { from: { email }, settings: { max_attempts: 2 } })
    }
  }

  it('are taken for a fault of the server after a few; their mail is retried and sent', async () => {
    const { db } = world
    const server = await world.serve(onAuth(REJECTED), { auth: { users } })
    await rejectedMailers(8, server.port)
    const sender = world.sender({ retryScheduleMs: [3_600_000] })
    await sender.runOnce()
    const all = await shorts()
    expect(all.filter((one) => one === 'MAILER_DEACTIVATED')).toHaveLength(5)
    expect(all.filter((one) => one === 'SMTP_ERROR 1 final')).toHaveLength(5)
    expect(all.filter((one) => one === 'SMTP_ERROR 1 retry')).toHaveLength(3)
    const doubted = (await eventsOf(db)).filter(({ details }) => details.retry_scheduled === true)
    expect(doubted[0]?.details).toMatchObject({
      failed_reason: 'The mail server could not check the login at the moment',
      provider_error: REJECTED,
    })
    server.setScript(undefined)
    await db.query('update sending_queue set due_at = now()')
    await drain(db, world.sender())
    expect((await shorts()).filter((one) => one === 'MAIL_DELIVERED')).toHaveLength(3)
  })

  it('are deactivated one by one as each is rejected for longer', async () => {
    const { db } = world
    const server = await world.serve(onAuth(REJECTED), { auth: { users } })
    await rejectedMailers(8, server.port)
    await world.sender({ retryScheduleMs: [3_600_000] }).runOnce()
    await db.query(
      `update mailers_mailer set refused_at = refused_at - interval '11 minutes',
              worked_at = worked_at - interval '1 hour'
        where mailer_id = (select mailer_id from mailers_mailer where state = 'active' limit 1)`,
    )
    await db.query('update sending_queue set due_at = now()')
    await drain(db, world.sender())
    expect((await shorts()).filter((one) => one === 'MAILER_DEACTIVATED')).toHaveLength(6)
  })

  it('are deactivated where as many others log in meanwhile', async () => {
    const { db } = world
    const server = await world.serve(undefined, { auth: { users } })
    const own = async (email: string, password: string) => {
      const key = { tenantId: 'tn_a', mailerId: newId('smtp') }
      const secret = sealPassword(keyRing, key, password)
      await addMailer(db, { ...key, email, port: server.port, username: USERNAME, secret })
    }
    const send = async (email: string) => {
      await accept(db, { from: { email } })
      await drain(db, world.sender())
    }
    for (const email of emails(12))
      await own(email, Number(email.slice(1, -12)) < 6 ? 'right' : 'no')
    await db.query(`update mailers_mailer set worked_at = worked_at - interval '1 hour'`)
    const [first = '', ...rest] = emails(12).slice(6)
    for (const email of [first, ...emails(6), ...rest]) await send(email)
    expect((await shorts()).filter((one) => one === 'MAILER_DEACTIVATED')).toHaveLength(6)
  })

  it('are deactivated when the rejection lasts longer', async () => {
    const { db } = world
    const server = await world.serve(onAuth(REJECTED), { auth: { users } })
    await rejectedMailers(8, server.port)
    await world.sender({ retryScheduleMs: [3_600_000] }).runOnce()
    await db.query(`update mailers_mailer set refused_at = refused_at - interval '11 minutes',
                           worked_at = worked_at - interval '1 hour'`)
    await db.query('update sending_queue set due_at = now()')
    await drain(db, world.sender())
    expect((await shorts()).filter((one) => one === 'MAILER_DEACTIVATED')).toHaveLength(8)
  })

  it.each([
    ['have never logged in', REJECTED, false],
    ['are told why it must be', '535 5.7.139 SmtpClientAuthentication is disabled', true],
  ])('are deactivated where they %s', async (_, reply, everWorked) => {
    const server = await world.serve(onAuth(reply), { auth: { users } })
    await rejectedMailers(8, server.port, { everWorked })
    await drain(world.db, world.sender())
    expect((await shorts()).filter((one) => one === 'MAILER_DEACTIVATED')).toHaveLength(8)
  })

  async function addRejected(email: string, port: number, hostEverWorked: boolean) {
    const key = { tenantId: 'tn_a', mailerId: newId('smtp') }
    const secret = sealPassword(keyRing, key, 'right')
    await addMailer(world.db, { ...key, email, hostEverWorked, port, username: USERNAME, secret })
    await accept(world.db, { from: { email } })
    return key.mailerId
  }

  const rejected = (mailerId: string) => ({
    tenantId: 'tn_a',
    mailerId,
    configVersion: 1,
    evidence: REJECTED,
    isBeyondDoubt: false,
    traceparent: TRACEPARENT,
  })

  it('do not protect a mailer that has never logged in', async () => {
    const server = await world.serve(onAuth(REJECTED), { auth: { users } })
    await rejectedMailers(8, server.port)
    const sender = world.sender({ retryScheduleMs: [3_600_000] })
    await sender.runOnce()
    const mailerId = await addRejected('new@example.com', server.port, false)
    await sender.runOnce()
    expect(await stateOf(mailerId)).toMatchObject({ state: 'deactivated' })
  })

  it('do not count where they have never logged in', async () => {
    const server = await world.serve(onAuth(REJECTED), { auth: { users } })
    await rejectedMailers(8, server.port, { everWorked: false })
    const sender = world.sender()
    await drain(world.db, sender)
    const mailerId = await addRejected('old@example.com', server.port, true)
    await drain(world.db, sender)
    expect(await stateOf(mailerId)).toMatchObject({ state: 'deactivated' })
  })

  it('are judged one after the other over all processes', async () => {
    const { db } = world
    const server = await world.serve(onAuth(REJECTED), { auth: { users } })
    await rejectedMailers(5, server.port)
    await drain(db, world.sender())
    const last = await Promise.all(
      ['x@example.com', 'y@example.com'].map((email) => addRejected(email, server.port, true)),
    )
    let second: Promise<unknown> | undefined
    await db.transaction(async (tx) => {
      const [one = '', other = ''] = last
      await settleRejectedLogins(tx, createClock(), [rejected(one)])
      second = db.transaction((own) => settleRejectedLogins(own, createClock(), [rejected(other)]))
      await untilBlocked(db)
    })
    await second
  })

  it('do not vouch for the server when they logged in and were rejected again', async () => {
    const { db } = world
    const [port, ago] = [9, (minutes: number) => `now() - interval '${minutes} minutes'`]
    await rejectedMailers(8, port)
    await db.query(`update mailers_mailer set worked_at = ${ago(3)}, refused_at = ${ago(1)}`)
    await db.query(`update mailers_mailer set worked_at = ${ago(6)}, refused_at = ${ago(5)}
      where email = 'm0@example.com'`)
    await addRejected('works@example.com', port, true)
    const mailerId = await addRejected('x@example.com', port, true)
    await db.query(`update mailers_mailer set worked_at = ${ago(3)} where mailer_id = $1`, [
      mailerId,
    ])
    const verdicts = await db.transaction((tx) =>
      settleRejectedLogins(tx, createClock(), [rejected(mailerId)]),
    )
    expect(verdicts).toEqual([{ kind: 'doubted' }])
  })

  it('are protected again after they became active', async () => {
    const { db } = world
    const server = await world.serve(onAuth(REJECTED), { auth: { users } })
    await rejectedMailers(8, server.port)
    const sender = world.sender({ retryScheduleMs: [3_600_000] })
    await sender.runOnce()
    await db.query(`update mailers_mailer set refused_at = refused_at - interval '11 minutes',
      worked_at = worked_at - interval '1 hour' where state = 'deactivated'`)
    const { rows } = await db.query<{ mailer_id: string; email: string }>(
      `select mailer_id, email from mailers_mailer where state = 'deactivated' limit 1`,
    )
    const [{ mailer_id: mailerId, email } = { mailer_id: '', email: '' }] = rows
    const key = { tenantId: 'tn_a', mailerId }
    await db.transaction((tx) => changeState(tx, createClock(), key, { kind: 'authenticated' }))
    await db.query(`update mailers_mailer set refused_at = now() where state = 'deactivated'`)
    await accept(db, { from: { email } })
    await world.sender({ retryScheduleMs: [3_600_000] }).runOnce()
    expect(await stateOf(mailerId)).toMatchObject({ state: 'active' })
  })
})

describe('the last errors of a mailer', () => {
  const errors = async () => {
    const { rows } = await world.db.query<Record<string, unknown>>(
      'select mailer_id, category, failed_reason, provider_error, ref_id from mailers_error',
    )
    return rows
  }

  it('are stored with the attempt that met them', async () => {
    const { db } = world
    const { mailerId } = await setUp()
    const refId = await accept(db)
    await drain(db, world.sender())
    expect(await errors()).toEqual([
      {
        mailer_id: mailerId,
        category: 'auth_rejected',
        failed_reason: "The mail server rejected the mailer's login",
        provider_error: expect.stringMatching(/^535 /),
        ref_id: refId,
      },
    ])
  })

  it('exclude errors of single recipients', async () => {
    const { db } = world
    const server = await world.serve({ 'ada@example.com': ['550 5.1.1 no such user'] })
    const { mailerId } = await addMailer(db, { port: server.port })
    await accept(db)
    await drain(db, world.sender())
    expect(await errors()).toEqual([])
    expect(await stateOf(mailerId)).toMatchObject({ state: 'active', state_reason: null })
  })
})
