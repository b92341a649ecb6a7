/** Alerts from what goes wrong to the request that tells it, on a real database and real sockets. */
import type { Alert, AlertKind } from '@postrider/contract'
import { createWebhookReceiver, type WebhookReceiver } from '@postrider/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { emptyTables } from '../../test/empty-tables.ts'
import { accept, useSending } from '../../test/sender.ts'
import { addMailer, silent } from '../../test/sending.ts'
import { createTestEgress, testKeyRing, testReceivers } from '../../test/webhook-api.ts'
import { insertWebhook } from '../../test/webhook-record.ts'
import type { Failpoints } from '../platform/failpoints.ts'
import { countQueued } from '../sending/index.ts'
import { createUsageCounts } from '../tenants/index.ts'
import { operator } from './alert.ts'
import { createAlertDelivery, type DeliverDeps } from './deliver.ts'
import { deleteReceiver, setReceiver, showReceiver } from './receiver.ts'
import { createAlertWatch, type WatchDeps } from './watch.ts'

const world = useSending()
const egress = createTestEgress()
const keyRing = testKeyRing
let receiver: WebhookReceiver
let isDiskOpen: boolean

beforeEach(async () => {
  receiver = await createWebhookReceiver()
  isDiskOpen = true
  await emptyTables(
    world.db,
    ...['alerts_receiver', 'alerts_delivery', 'alerts_episode', 'alerts_watch'],
    ...['webhooks_stream', 'webhooks_subscription', 'webhooks_open', 'domains_domain'],
    ...['tenants_usage', 'tenants_tenant', 'platform_counter', 'platform_counter_change'],
  )
  await world.db.query(
    `insert into tenants_tenant (tenant_id, name) values ('tn_a', 'A'), ('tn_b', 'B')`,
  )
})
afterEach(() => receiver.close())

const deps = () => ({ db: world.db, keyRing, receivers: testReceivers(egress) })
const none: Failpoints = { hit: () => undefined }
const set = (tenantId = 'tn_a', kinds?: AlertKind[], url = receiver.origin) =>
  setReceiver(deps(), tenantId, { url, ...(kinds === undefined ? {} : { kinds }) })
/** Another process each time: one that has not counted a moment ago. */
const newUsageCounts = () =>
  createUsageCounts({
    ...{ db: world.db, countQueued },
    ...{ retentionMs: 30 * 86_400_000, contentRetentionMs: 30 * 86_400_000 },
  })
const watch = (o: Partial<WatchDeps> = {}) =>
  createAlertWatch({
    ...{ db: world.db, log: silent, disk: { isOpen: () => isDiskOpen }, failpoints: none },
    usageCounts: newUsageCounts(),
    ...{ afterMs: 60_000, onTold: () => undefined, slowEveryMs: 0, ...o },
  })
const delivery = (o: Partial<DeliverDeps> = {}) =>
  createAlertDelivery({
    ...{ db: world.db, log: silent, egress, keyRing, failpoints: none, allowHttp: true, ...o },
  })
const query = (text: string, values: unknown[] = []) => world.db.query(text, values)
/** As if so long had passed since the last look. */
const pass = (s: number) =>
  Promise.all([
    query(`update alerts_watch set due_at = now()`),
    query(
      `update alerts_episode set since = since - $1 * interval '1 s', gone_at = gone_at - $1 * interval '1 s'`,
      [s],
    ),
  ])
async function lookAfter(s: number, o?: Partial<WatchDeps>) {
  await pass(s)
  return watch(o).runOnce()
}
const told = () =>
  receiver.requests.map(({ json }) => {
    const { alert, state, subject } = json as Alert
    return [alert, state, subject]
  })
const states = () => told().map(([alert, state]) => `${alert} ${state}`)
const deliver = () => delivery().runOnce()

/** What makes each kind begin, and what ends it. */
const KINDS: Readonly<
  Record<AlertKind, () => Promise<{ subject: string; end: () => Promise<unknown> }>>
> = {
  async mailer_deactivated() {
    const { mailerId } = await addMailer(world.db)
    const become = (state: string) =>
      query('update mailers_mailer set state = $2 where mailer_id = $1', [mailerId, state])
    await become('deactivated')
    return { subject: mailerId, end: () => become('active') }
  },
  async mailer_failing() {
    const server = await world.serve((now) =>
      now.phase === 'connect' ? '421 4.3.2 busy' : undefined,
    )
    const { mailerId } = await addMailer(world.db, { port: server.port })
    await accept(world.db)
    await world.sender({ retryScheduleMs: [3_600_000] }).runOnce()
    return { subject: mailerId, end: () => query('delete from sending_queue') }
  },
  async webhook_failing() {
    const { webhookId } = await insertWebhook(world.db)
    await query(
      `update webhooks_stream set state = 'active', first_failure_at = now(), delivery_id = 'd'
        where webhook_id = $1`,
      [webhookId],
    )
    return {
      subject: webhookId,
      end: () => query('update webhooks_stream set first_failure_at = null, fail_count = 0'),
    }
  },
  async queue_late() {
    const { mailerId } = await addMailer(world.db)
    await accept(world.db)
    const due = (s: number) =>
      query(`update sending_queue set due_at = now() - $1 * interval '1 s'`, [s])
    await due(120)
    return { subject: mailerId, end: () => due(0) }
  },
  async bounce_rate() {
    await count({ delivered: 95, bounced: 2, failed: 3 })
    return { subject: 'tn_a', end: () => count({ delivered: 20 }) }
  },
  async complaint_rate() {
    await count({ delivered: 1_000, complained: 1 })
    return { subject: 'tn_a', end: () => count({ delivered: 200 }) }
  },
  async quota_near() {
    await query(`update tenants_tenant set queued_max = 100 where tenant_id = 'tn_a'`)
    await query(`insert into tenants_usage (tenant_id, queued) values ('tn_a', 90)`)
    await enqueue(80)
    return {
      subject: 'queued_max',
      end: () => query(`delete from sending_queue where ref_id > 'r80'`),
    }
  },
  async domain_invalid() {
    await query(
      `insert into domains_domain (tenant_id, domain, mailer_id, relay, stage, options, ownership_token,
         dkim_keys, provider_state, was_verified)
       values ('tn_a', 'example.com', 'domain_1', 'sparkpost', 'ready', '{}', 't', '[]', '{}', true)`,
    )
    return {
      subject: 'example.com',
      end: () => query('update domains_domain set verified_at = now()'),
    }
  },
  async disk_full() {
    isDiskOpen = false
    return {
      subject: 'disk',
      end: async () => {
        isDiskOpen = true
      },
    }
  },
}

function enqueue(recipients: number, tenantId = 'tn_a') {
  return query(
    `insert into sending_queue (tenant_id, ref_id, n, mailer_id, bucket, is_bulk, due_at, max_attempts, expires_at,
                                content_bytes)
     select $2, 'r' || n, 0, 'smtp_1', 1, false, now() + interval '1 hour', 5, now() + interval '1 day', 1
       from generate_series(10, 9 + $1::int) n`,
    [recipients, tenantId],
  )
}

async function count(counts: Readonly<Record<string, number>>) {
  for (const [name, n] of Object.entries(counts))
    await query(
      `insert into platform_counter_change (tenant_id, at, counts) values ('tn_a', now(), $1)`,
      [JSON.stringify([{ subject: 'smtp_1', name, n }])],
    )
}

describe('[contract 11] an alert', () => {
  it('of a near quota counts what waits, not what was accepted', async () => {
    await set('tn_a', ['quota_near'])
    await KINDS.quota_near()
    await query('delete from sending_queue')
    for (let i = 0; i < 3; i += 1) await lookAfter(60)
    await deliver()
    expect(told()).toEqual([])
    expect((await query('select queued::int from tenants_usage')).rows).toEqual([{ queued: 0 }])
  })

  it.each(Object.keys(KINDS) as AlertKind[])(
    'is told once when it begins and once when it is over: %s',
    async (kind) => {
      await set(kind === 'disk_full' ? operator : 'tn_a')
      const { subject, end } = await KINDS[kind]()
      await lookAfter(0)
      for (let i = 0; i < 3; i += 1) await lookAfter(60)
      await deliver()
      expect(told()).toEqual([[kind, 'begun', subject]])
      await end()
      await lookAfter(0)
      for (let i = 0; i < 3; i += 1) await lookAfter(60)
      await deliver()
      expect(told()).toEqual([
        [kind, 'begun', subject],
        [kind, 'over', subject],
      ])
      const [request] = receiver.requests
      expect(request?.json).toEqual({
        ...{ alert: kind, state: 'begun', subject, at: expect.stringMatching(/Z$/) },
        details: expect.objectContaining({ tenant_id: kind === 'disk_full' ? null : 'tn_a' }),
      })
      expect(request?.header('content-type')).toBe('application/json')
      expect(request?.header('webhook-id')).toMatch(/^alr_/)
    },
  )

  it('is not told of what does not last, or of a rate of few emails', async () => {
    await set()
    const { end } = await KINDS.queue_late()
    await count({ delivered: 1, bounced: 90 })
    await lookAfter(0)
    await lookAfter(59)
    await end()
    await lookAfter(60)
    await deliver()
    expect(told()).toEqual([])
  })

  it('goes to the tenant whose it is, and to the operator with its tenant', async () => {
    const other = await createWebhookReceiver()
    await set('tn_b', undefined, other.origin)
    await KINDS.mailer_deactivated()
    await lookAfter(0)
    await deliver()
    expect(other.requests).toEqual([])
    await set(operator)
    await lookAfter(0)
    await deliver()
    expect(states()).toEqual(['mailer_deactivated begun'])
    await other.close()
  })

  it('is of the kinds that are wanted', async () => {
    await set('tn_a', ['domain_invalid'])
    await KINDS.mailer_deactivated()
    await KINDS.domain_invalid()
    await lookAfter(0)
    await deliver()
    expect(told()).toEqual([['domain_invalid', 'begun', 'example.com']])
  })

  it.each(['mailer_deactivated', 'webhook_failing', 'domain_invalid'] as const)(
    'is told although another tenant has more than a look reads: %s',
    async (kind) => {
      await set('tn_b', [kind])
      await set('tn_a', [kind])
      const rows: Readonly<Record<string, readonly [table: string, key: string]>> = {
        mailer_deactivated: ['mailers_mailer', 'mailer_id'],
        webhook_failing: ['webhooks_stream', 'webhook_id'],
        domain_invalid: ['domains_domain', 'domain'],
      }
      const [table, key] = rows[kind] ?? ['', '']
      const { subject } = await KINDS[kind]()
      for (const [i, tenantId] of ['tn_a', 'tn_a', 'tn_b'].entries())
        await query(
          `insert into ${table}
             select (jsonb_populate_record(t, jsonb_build_object('tenant_id', $1::text, 'mailer_id', $2::text, $3::text, $2::text))).*
               from ${table} t where t.${key} = $4`,
          [tenantId, `${subject}${i}`, key, subject],
        )
      await lookAfter(0, { rowsMax: 2 })
      await lookAfter(60, { rowsMax: 2 })
      await deliver()
      expect(told()).toContainEqual([kind, 'begun', `${subject}2`])
    },
  )

  it('ends nothing that a look could not read', async () => {
    await set()
    const { end } = await KINDS.mailer_deactivated()
    await lookAfter(0)
    await end()
    // No database reads so many rows: the look fails.
    await lookAfter(0, { rowsMax: -1 })
    await deliver()
    expect(states()).toEqual(['mailer_deactivated begun'])
  })

  it('is over when it is, whatever number of others its tenant has', async () => {
    await set()
    const bounds = { rowsMax: 6, rowsPerTenantMax: 3 }
    for (let i = 0; i < 5; i += 1)
      await addMailer(world.db, { email: `m${i}@example.com`, mailerId: `smtp_${i}` })
    const become = (state: string, ids: readonly string[]) =>
      query('update mailers_mailer set state = $1 where mailer_id = any($2)', [state, ids])
    await become('deactivated', ['smtp_0', 'smtp_1', 'smtp_2', 'smtp_3', 'smtp_4'])
    await lookAfter(0, bounds)
    await deliver()
    const begun = told().map(([, , subject]) => String(subject))
    expect(begun).toHaveLength(3)
    // The others come to the fore, and hide nothing that is open.
    await query('update mailers_mailer set state_changed_at = now() where mailer_id <> all($1)', [
      begun,
    ])
    await lookAfter(0, bounds)
    await deliver()
    expect(told()).toHaveLength(3)
    await become('active', begun.slice(0, 2))
    await lookAfter(0, bounds)
    await deliver()
    const others = ['smtp_0', 'smtp_1', 'smtp_2', 'smtp_3', 'smtp_4'].filter(
      (one) => !begun.includes(one),
    )
    expect(told().slice(3).sort()).toEqual(
      [
        ...begun.slice(0, 2).map((one) => ['mailer_deactivated', 'over', one]),
        ...others.map((one) => ['mailer_deactivated', 'begun', one]),
      ].sort(),
    )
  })

  it('of a late queue is told although another tenant has more late ones', async () => {
    await set('tn_b', ['queue_late'])
    await set('tn_a', ['queue_late'])
    for (const [i, tenantId] of ['tn_a', 'tn_a', 'tn_a', 'tn_b'].entries()) {
      const from = { email: `m${i}@example.com` }
      await addMailer(world.db, { tenantId, email: from.email, mailerId: `smtp_${i}` })
      await accept(world.db, { from }, tenantId)
    }
    await query(
      `update sending_queue set due_at = now() - (case tenant_id when 'tn_a' then 900 else 300 end) * interval '1 s'`,
    )
    const bounds = { rowsMax: 3, rowsPerTenantMax: 2 }
    for (const s of [0, 60, 60]) await lookAfter(s, bounds)
    await deliver()
    expect(told()).toContainEqual(['queue_late', 'begun', 'smtp_3'])
    expect(told()).toHaveLength(3)
  })

  it('of a quota is told although another tenant has more of them', async () => {
    await set('tn_b', ['quota_near'])
    await set('tn_a', ['quota_near'])
    await query('update tenants_tenant set queued_max = 100, emails_per_day = 100')
    await query(
      `insert into tenants_usage (tenant_id, queued, day, in_day)
       values ('tn_a', 90, now() at time zone 'UTC', 90), ('tn_b', 90, now() at time zone 'UTC', 0)`,
    )
    for (const tenantId of ['tn_a', 'tn_b']) await enqueue(80, tenantId)
    await lookAfter(0, { rowsMax: 2 })
    const { rows } = await query('select tenant_id from alerts_episode order by 1')
    expect(rows).toEqual([{ tenant_id: 'tn_a' }, { tenant_id: 'tn_b' }])
  })

  it('is written when something of it changes, and not at each look', async () => {
    await set()
    const { end } = await KINDS.webhook_failing()
    const written = async () =>
      (await query('select xmin::text as written from alerts_episode')).rows
    const look = async () => {
      await query(`update alerts_watch set due_at = now()`)
      await watch().runOnce()
      return written()
    }
    const first = await look()
    expect(await look()).toEqual(first)
    await query(`update alerts_episode set since = now() - interval '60 s'`)
    const told = await look()
    expect(await look()).toEqual(told)
    await end()
    const gone = await look()
    expect(gone).not.toEqual(told)
    expect(await look()).toEqual(gone)
  })
})

describe('[contract 11] several processes', () => {
  it('tell each alert once', async () => {
    await set()
    const { end } = await KINDS.mailer_deactivated()
    const together = async () => {
      await pass(0)
      await Promise.all([watch(), watch(), watch()].map((one) => one.runOnce()))
      await Promise.all([delivery(), delivery(), delivery()].map((one) => one.runOnce()))
    }
    for (let i = 0; i < 3; i += 1) await together()
    await end()
    for (let i = 0; i < 3; i += 1) await together()
    expect(told().map(([, state]) => state)).toEqual(['begun', 'over'])
  })

  it.each(['alerts.after_look', 'alerts.before_commit'] as const)(
    'tell it once where one is killed at %s',
    async (at) => {
      await set()
      await KINDS.mailer_deactivated()
      const dying: Failpoints = {
        hit(name) {
          if (name === at) throw new Error('killed')
        },
      }
      await expect(watch({ failpoints: dying }).runOnce()).rejects.toThrow('killed')
      // It is the other's turn when the claim is over.
      expect(await watch().runOnce()).toBe(0)
      await lookAfter(0)
      await lookAfter(0)
      await deliver()
      expect(states()).toEqual(['mailer_deactivated begun'])
    },
  )

  it('changes nothing by a look that lost its turn', async () => {
    await set()
    const { end } = await KINDS.mailer_deactivated()
    let other: Promise<number> | undefined
    const late: Failpoints = {
      hit(name) {
        if (name === 'alerts.after_look') other = end().then(() => lookAfter(0))
      },
    }
    // What it has seen is over when it comes to write it.
    const looking = watch({ failpoints: late, db: waitingFor(() => other) }).runOnce()
    expect(await looking).toBe(0)
    await lookAfter(0)
    await deliver()
    expect(told()).toEqual([])
  })

  it('tell nothing of a look to a receiver that was removed meanwhile', async () => {
    await set()
    await KINDS.mailer_deactivated()
    for (const removed of ['before it was told', 'after it was told']) {
      let other: Promise<unknown> | undefined
      const late: Failpoints = {
        hit(name) {
          if (name === 'alerts.after_look') other = deleteReceiver(deps(), 'tn_a')
        },
      }
      await pass(0)
      await watch({ failpoints: late, db: waitingFor(() => other) }).runOnce()
      expect((await query('select from alerts_delivery')).rows, removed).toEqual([])
      await set()
      await lookAfter(0)
      await deliver()
    }
    expect(states()).toEqual(['mailer_deactivated begun', 'mailer_deactivated begun'])
  })

  it('remove a receiver when the look that tells it is written', async () => {
    await set()
    await KINDS.mailer_deactivated()
    let removing: Promise<void> | undefined
    let isRemoved = false
    const slow: Failpoints = {
      hit(name) {
        if (name !== 'alerts.before_commit') return
        removing = deleteReceiver(deps(), 'tn_a').then(() => {
          isRemoved = true
        })
      },
    }
    const { db } = world
    const isWaiting = async () =>
      (await query("select from pg_stat_activity where wait_event_type = 'Lock'")).rows.length > 0
    // The look is written when the removal waits for it, or was done without it.
    const late = {
      ...db,
      query: db.query,
      transaction: (work: Parameters<typeof db.transaction>[0]) =>
        db.transaction(async (tx) => {
          const made = await work(tx)
          if (removing !== undefined)
            await expect.poll(async () => isRemoved || (await isWaiting())).toBe(true)
          return made
        }),
    } as typeof db
    await watch({ failpoints: slow, db: late }).runOnce()
    await removing
    expect((await query('select from alerts_delivery')).rows).toEqual([])
    await set()
    await lookAfter(0)
    await deliver()
    expect(states()).toEqual(['mailer_deactivated begun'])
  })

  it('send an alert again with the same id where one is killed before it was settled', async () => {
    await set()
    await KINDS.mailer_deactivated()
    await lookAfter(0)
    const dying: Failpoints = {
      hit() {
        throw new Error('killed')
      },
    }
    await delivery({ failpoints: dying }).runOnce()
    await deliver()
    expect(receiver.requests).toHaveLength(1)
    await query('update alerts_delivery set due_at = now()')
    await deliver()
    const ids = receiver.requests.map((request) => request.header('webhook-id'))
    expect(ids).toHaveLength(2)
    expect(new Set(ids).size).toBe(1)
    expect((await query('select from alerts_delivery')).rows).toEqual([])
  })
})

/** A database whose transactions begin when something else is done. */
function waitingFor(other: () => Promise<unknown> | undefined): typeof world.db {
  const { db } = world
  return {
    ...db,
    query: db.query,
    async transaction(...args: Parameters<typeof db.transaction>) {
      await other()
      return db.transaction(...args)
    },
  } as typeof world.db
}

describe('[contract 11] a receiver that is down', () => {
  it('gets all that it missed, in order, and delays no other', async () => {
    await set()
    const { end } = await KINDS.mailer_deactivated()
    receiver.setScript([503, 503])
    await lookAfter(0)
    await deliver()
    await end()
    await lookAfter(0)
    await deliver()
    expect(receiver.requests).toHaveLength(1)
    expect(await showReceiver(deps(), 'tn_a')).toMatchObject({
      ...{ waiting: 2, last_ok_at: null, last_error: 'The receiver answered 503' },
    })
    await query('update alerts_delivery set due_at = now()')
    await deliver()
    expect(receiver.requests).toHaveLength(2)
    receiver.setScript([])
    await query('update alerts_delivery set due_at = now()')
    await deliver()
    expect(
      told()
        .slice(2)
        .map(([, state]) => state),
    ).toEqual(['begun', 'over'])
    expect(await showReceiver(deps(), 'tn_a')).toMatchObject({
      ...{ waiting: 0, last_error: null, last_ok_at: expect.stringMatching(/Z$/) },
    })
  })

  it('delays no alert of another tenant while it hangs', async () => {
    const slow = await createWebhookReceiver()
    slow.setScript([{ status: 200, after: new Promise(() => undefined) }])
    await set('tn_a', undefined, slow.origin)
    await set(operator)
    await KINDS.mailer_deactivated()
    await lookAfter(0)
    const running = delivery({ sweepMs: 50 })
    await running.start()
    await receiver.waitForRequests(1)
    await slow.waitForRequests(1)
    await running.stop()
    expect(states()).toEqual(['mailer_deactivated begun'])
    // What was cut off is not settled: it is sent again.
    expect(await showReceiver(deps(), 'tn_a')).toMatchObject({ waiting: 1 })
    await slow.close()
  })

  it('is tried soon when it is set again', async () => {
    await set()
    await KINDS.mailer_deactivated()
    await lookAfter(0)
    receiver.setScript([503])
    await delivery({ waitsMs: [600_000] }).runOnce()
    await set()
    const { rows } = await query(
      `select due_at <= now() + interval '30 s' as "isSoon" from alerts_delivery`,
    )
    expect(rows).toEqual([{ isSoon: true }])
  })

  it('is given up after a day, with the alert alone that is so old', async () => {
    await set()
    const { end } = await KINDS.mailer_deactivated()
    await lookAfter(0)
    await query(`update alerts_delivery set created_at = now() - interval '1 day'`)
    await end()
    await lookAfter(0)
    receiver.setScript([500])
    await deliver()
    expect(told().map(([, state]) => state)).toEqual(['begun', 'over'])
    expect(await showReceiver(deps(), 'tn_a')).toMatchObject({ waiting: 0 })
  })
})

it('[contract 11] a receiver has a bound of what waits for it: the oldest are given up', async () => {
  await set()
  for (let i = 0; i < 5; i += 1) {
    await addMailer(world.db, { email: `m${i}@example.com`, mailerId: `smtp_${i}` })
    await query(`update mailers_mailer set state = 'deactivated' where mailer_id = $1`, [
      `smtp_${i}`,
    ])
    await lookAfter(0, { waitingMax: 3 })
  }
  expect(await showReceiver(deps(), 'tn_a')).toMatchObject({ waiting: 3 })
  await deliver()
  expect(told().map(([, , subject]) => subject)).toEqual(['smtp_2', 'smtp_3', 'smtp_4'])
})

it('[contract 11] a tenant that is being deleted gets no rows by a look that began before', async () => {
  await set()
  await set(operator)
  await KINDS.mailer_deactivated()
  let deleting: Promise<unknown> | undefined
  const late: Failpoints = {
    hit(name) {
      if (name === 'alerts.after_look')
        deleting = query(`update tenants_tenant set state = 'deleting' where tenant_id = 'tn_a'`)
    },
  }
  await watch({ failpoints: late, db: waitingFor(() => deleting) }).runOnce()
  for (const table of ['alerts_delivery', 'alerts_episode'])
    expect((await query(`select from ${table}`)).rows, table).toEqual([])
})

describe('[contract 11] the receiver', () => {
  it('gets a message of Slack where the URL is one of Slack, which is not shown', async () => {
    const { port } = new URL(receiver.origin)
    const slackEgress = createTestEgress([], { 'hooks.slack.com': ['127.0.0.1'] })
    const url = `http://hooks.slack.com:${port}/services/T0/B0/canary`
    const shown = await setReceiver({ ...deps(), receivers: testReceivers(slackEgress) }, 'tn_a', {
      url,
    })
    expect(shown).toMatchObject({ form: 'slack', url: `http://hooks.slack.com:${port}/services/…` })
    const { subject } = await KINDS.mailer_deactivated()
    await lookAfter(0)
    await delivery({ egress: slackEgress }).runOnce()
    const [request] = receiver.requests
    expect(request?.path).toBe('/services/T0/B0/canary')
    expect(request?.json).toMatchObject({
      text: expect.stringContaining(subject),
      blocks: [{ type: 'header' }, { type: 'section' }, { type: 'context' }],
    })
    const { rows } = await query('select * from alerts_receiver')
    expect(JSON.stringify(rows)).not.toContain('canary')
    await slackEgress.close()
  })

  it('is told of what goes on when it is set again, and loses what waits when it is deleted', async () => {
    await set()
    await KINDS.mailer_deactivated()
    await lookAfter(0)
    await deleteReceiver(deps(), 'tn_a')
    expect(await showReceiver(deps(), 'tn_a')).toBeNull()
    await expect(deleteReceiver(deps(), 'tn_a')).rejects.toMatchObject({ code: 'not_found' })
    expect((await query('select from alerts_delivery')).rows).toEqual([])
    await set()
    await lookAfter(0)
    await deliver()
    expect(states()).toEqual(['mailer_deactivated begun'])
  })

  it('has to be one that webhooks may have', async () => {
    for (const url of ['https://10.0.0.1/', 'ftp://a.test/', 'https://u:p@a.test/'])
      await expect(set('tn_a', undefined, url)).rejects.toMatchObject({ code: 'url_not_allowed' })
    await expect(set('tn_a', undefined, 'nonsense')).rejects.toMatchObject({
      errors: [{ path: '/url' }],
    })
    await set()
    await KINDS.mailer_deactivated()
    await lookAfter(0)
    await delivery({ allowHttp: false }).runOnce()
    expect(receiver.requests).toEqual([])
    expect(await showReceiver(deps(), 'tn_a')).toMatchObject({
      last_error: expect.stringContaining('url_not_allowed'),
    })
  })
})
