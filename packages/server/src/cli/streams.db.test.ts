import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/database.ts'
import { emptyTables } from '../../test/empty-tables.ts'
import { runCli } from '../cli.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase()
  for (const id of ['tn_a', 'tn_b', 'tn_c'])
    await database.db.query('insert into tenants_tenant (tenant_id, name) values ($1, $1)', [id])
})
afterAll(() => database.close())
beforeEach(async () => {
  await emptyTables(
    database.db,
    'webhooks_stream',
    'webhooks_pending',
    'webhooks_open',
    'webhooks_subscription',
  )
})

async function run(...args: string[]) {
  let [out, err] = ['', '']
  const code = await runCli(args, {
    env: { POSTRIDER_DATABASE_URL: database.url },
    out: (text) => {
      out += text
    },
    err: (text) => {
      err += text
    },
  })
  return { code, out, err, json: () => JSON.parse(out) }
}

interface NewStream {
  readonly tenantId?: string
  readonly event?: string
  readonly owner?: string
  readonly isActive?: boolean
  readonly isDeleted?: boolean
  readonly state?: string
  readonly failingFor?: string
  /** What it carried was given up: nothing is left. */
  readonly isGivenUp?: boolean
  readonly isPaused?: boolean
  /** Events that were refused one by one, and none accepted since. */
  readonly parkedInRow?: number
}

async function addStream(id: string, o: NewStream = {}): Promise<void> {
  const { tenantId = 'tn_a', event = 'INCOMING' } = o
  const owner = o.owner ?? (event === 'INCOMING' ? `owner_of_${id}` : '')
  if (o.isDeleted !== true)
    await database.db.query(
      `insert into webhooks_subscription
         (tenant_id, webhook_id, event, owner, url, method, active, headers_sealed, header_names)
       values ($1, $2, $3, $4, 'https://secret:secret@example.com:8443/secret?token=secret', 'POST', $5, '', '{}')`,
      [tenantId, id, event, owner, o.isActive ?? true],
    )
  await database.db.query(
    `insert into webhooks_stream (tenant_id, webhook_id, bucket, mode, state, first_failure_at,
       fail_count, not_before, last_ok_at, paused_at, delivery_id, parked_in_row)
     values ($1, $2, 0, 'array', $3, now() - $4::interval, case when $4 is null then 0 else 7 end,
             case when $4 is null then '-infinity' else now() + interval '1 hour' end,
             '2026-01-02T03:04:05Z', case when $5::boolean then now() end,
             case when $4 is not null and not $6::boolean then 'dlv_1' end, $7)`,
    [
      ...[tenantId, id, o.state ?? 'active', o.failingFor ?? null, o.isPaused ?? false],
      ...[o.isGivenUp ?? false, o.parkedInRow ?? 0],
    ],
  )
}

async function addPending(webhookId: string, count: number, oldest = '90 minutes'): Promise<void> {
  await database.db.query(
    `insert into webhooks_pending (tenant_id, webhook_id, event_id, day, bytes, queued_at)
     select 'tn_a', $1, 'evt_' || lpad(n::text, 8, '0'), current_date, 100, now() - $3::interval
       from generate_series(1, $2::int) n`,
    [webhookId, count, oldest],
  )
}

async function addParked(webhookId: string, createdAt = new Date()): Promise<void> {
  await database.db.query(
    `insert into webhooks_open (tenant_id, delivery_id, day, webhook_id, bucket, generation, status,
       event_ids, event_days, traceparent, next_attempt_at, due_at, created_at)
     values ('tn_a', 'dlv_of_' || $1, current_date, $1, 0, 0, 'parked', '{}', '{}', '',
             now() + interval '1 hour', now() + interval '1 hour', $2)`,
    [webhookId, createdAt],
  )
}

async function streamOf(webhookId: string): Promise<Record<string, unknown> | undefined> {
  const { rows } = await database.db.query<Record<string, unknown>>(
    `select state, paused_at, not_before = '-infinity' as is_due, fail_count, first_failure_at
       from webhooks_stream where webhook_id = $1`,
    [webhookId],
  )
  return rows[0]
}

describe('webhook list', () => {
  it('shows the waiting events of each webhook, since when it fails, and what is paused', async () => {
    await addStream('wh_1', { event: 'EMAIL_EVENT' })
    await addPending('wh_1', 3)
    await addStream('wh_2', { owner: 'imap_1', failingFor: '2 hours' })
    await addStream('wh_3', {
      event: 'EMAIL_EVENT',
      state: 'idle',
      isPaused: true,
      tenantId: 'tn_b',
    })
    await database.db.query(
      `insert into webhooks_open (tenant_id, delivery_id, day, webhook_id, bucket, generation,
         status, event_ids, event_days, traceparent)
       select 'tn_a', 'dlv_' || n, current_date, 'wh_2', 0, 0,
              case when n = 1 then 'retrying' else 'parked' end, '{}', '{}', ''
         from generate_series(1, 3) n`,
    )
    const { code, err, json } = await run('webhook', 'list', '--json')
    expect({ code, err }).toEqual({ code: 0, err: '' })
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/)
    const none = { failing_since: null, failures: 0, next_attempt_at: null, paused_at: null }
    const nothing = { events_pending: 0, oldest_pending_at: null }
    const origin = 'https://example.com:8443'
    const noOpen = { deliveries_open: 0, deliveries_parked: 0, active: true }
    expect(json()).toEqual({
      webhooks: [
        {
          ...{ webhook_id: 'wh_1', tenant_id: 'tn_a', event: 'EMAIL_EVENT', owner: null, origin },
          ...{ ...none, ...noOpen, state: 'active', events_pending: 3, oldest_pending_at: time },
          last_ok_at: '2026-01-02T03:04:05.000Z',
        },
        {
          ...{ webhook_id: 'wh_2', tenant_id: 'tn_a', event: 'INCOMING', owner: 'imap_1', origin },
          ...{ ...nothing, state: 'failing', active: true },
          ...{ deliveries_open: 3, deliveries_parked: 2 },
          ...{ failing_since: time, failures: 7, next_attempt_at: time, paused_at: null },
          last_ok_at: '2026-01-02T03:04:05.000Z',
        },
        {
          ...{ webhook_id: 'wh_3', tenant_id: 'tn_b', event: 'EMAIL_EVENT', owner: null, origin },
          ...{ ...nothing, ...noOpen, ...none, state: 'paused', paused_at: time },
          last_ok_at: '2026-01-02T03:04:05.000Z',
        },
      ],
    })
  })

  it('prints a table without the address, which may hold a secret', async () => {
    await addStream('wh_1', { event: 'EMAIL_EVENT' })
    await addPending('wh_1', 3)
    await addStream('wh_2', { owner: 'imap_1', failingFor: '2 hours' })
    const { out } = await run('webhook', 'list')
    const [head, first, second] = out.split('\n')
    expect(head).toMatch(/^WEBHOOK +TENANT +EVENT +STATE +PENDING +OLDEST/)
    expect(first).toMatch(
      /^wh_1 +tn_a +EMAIL_EVENT +active +3 +1h +0 +0 +- +- +2026-01-02T03:04:05Z/,
    )
    expect(second).toMatch(/^wh_2 +tn_a +imap_1 +failing +0 +- +0 +0 +\S+Z \(7 times\) +\S+Z/)
    expect(first).toMatch(/https:\/\/example\.com:8443$/)
    expect(out).not.toContain('secret')
    expect(out).not.toContain('Parked:')
    await addParked('wh_1')
    expect((await run('webhook', 'list')).out).toContain('Parked: events that their receiver')
  })

  it.each([
    [['--failing'], ['wh_2', 'wh_4']],
    [
      ['--tenant', 'tn_b'],
      ['wh_3', 'wh_4'],
    ],
    [['--failing', '--tenant', 'tn_b'], ['wh_4']],
    [['--tenant', 'tn_c'], []],
  ])('%j shows the matching ones only', async (options, ids) => {
    await addStream('wh_1')
    await addStream('wh_2', { failingFor: '1 minute' })
    await addStream('wh_3', { tenantId: 'tn_b' })
    await addStream('wh_4', { tenantId: 'tn_b', failingFor: '5 days' })
    const { webhooks: streams } = (await run('webhook', 'list', '--json', ...options)).json()
    expect(streams.map((one: { webhook_id: string }) => one.webhook_id)).toEqual(ids)
  })

  it('ends with 1 for an unknown tenant', async () => {
    expect(await run('webhook', 'list', '--tenant', 'tn_x')).toMatchObject({
      ...{ code: 1, out: '', err: 'There is no tenant tn_x\n' },
    })
  })

  it('names each condition', async () => {
    await addStream('wh_1', { state: 'idle' })
    await addStream('wh_2', { failingFor: '5 days' })
    await addStream('wh_3', { isActive: false })
    await addStream('wh_4', { isDeleted: true })
    await addStream('wh_5', { isDeleted: true, isPaused: true })
    await addStream('wh_6', { failingFor: '5 days', isGivenUp: true })
    await addStream('wh_7', { state: 'idle' })
    await addParked('wh_7')
    const { webhooks: streams } = (await run('webhook', 'list', '--json')).json()
    expect(streams.map((one: { state: string }) => one.state)).toEqual([
      'idle',
      'dormant',
      'inactive',
      'deleted',
      'paused',
      'idle',
      'parked',
    ])
  })

  it('shows a receiver that refuses one event after the other as failing since the first', async () => {
    await addStream('wh_1', { parkedInRow: 9 })
    await addPending('wh_1', 1)
    await addStream('wh_2', { parkedInRow: 10 })
    await addParked('wh_2', new Date('2026-01-02T03:04:05Z'))
    await addStream('wh_3', { parkedInRow: 10, state: 'idle' })
    const { webhooks: streams } = (await run('webhook', 'list', '--json')).json()
    const since = '2026-01-02T03:04:05.000Z'
    expect(streams).toMatchObject([
      { state: 'active', failing_since: null, failures: 0 },
      { state: 'failing', failing_since: since, failures: 10 },
      { state: 'idle', failing_since: null },
    ])
    const failing = (await run('webhook', 'list', '--failing')).out
    expect(failing).toMatch(/wh_2 .* 2026-01-02T03:04:05Z \(10 times\)/)
    expect(failing).not.toContain('wh_1')
  })

  it('counts a large backlog up to its bound', async () => {
    await addStream('wh_1')
    await addPending('wh_1', 10_001)
    expect((await run('webhook', 'list')).out).toMatch(/ 10000\+ /)
    expect((await run('webhook', 'list', '--json')).json()).toMatchObject({
      webhooks: [{ events_pending: 10_000 }],
    })
  })

  it('shows all of many streams', async () => {
    await database.db.query(
      `insert into webhooks_stream (tenant_id, webhook_id, bucket, mode)
       select 'tn_' || n % 3, 'wh_' || n, 0, 'array' from generate_series(1, 450) n`,
    )
    const { webhooks: streams } = (await run('webhook', 'list', '--json')).json()
    expect(new Set(streams.map((one: { webhook_id: string }) => one.webhook_id)).size).toBe(450)
  })

  it('says so when there are none', async () => {
    expect(await run('webhook', 'list')).toMatchObject({ code: 0, out: 'No webhooks\n' })
  })
})

describe('webhook pause and resume', () => {
  it('pause keeps the first time, and touches no other webhook', async () => {
    await addStream('wh_1')
    await addStream('wh_2')
    const { code, out, err } = await run('webhook', 'pause', 'wh_1')
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toMatch(/^Paused wh_1 of tn_a since \S+Z: .*\n.*POSTRIDER_RETENTION/)
    const since = (await streamOf('wh_1'))?.paused_at
    const again = (await run('webhook', 'pause', 'wh_1', '--json')).json()
    expect(again).toMatchObject({ webhook_id: 'wh_1', tenant_id: 'tn_a' })
    expect(new Date(again.paused_at)).toEqual(since)
    expect(await streamOf('wh_2')).toMatchObject({ paused_at: null })
  })

  it('pause says that the webhook is inactive, and so does the list', async () => {
    await addStream('wh_1')
    await database.db.query('update webhooks_subscription set active = false')
    const { out } = await run('webhook', 'pause', 'wh_1')
    expect(out).toContain('The webhook is inactive: its events are recorded, and none waits.')
    expect(out).not.toContain('POSTRIDER_RETENTION')
    expect((await run('webhook', 'list')).out).toMatch(/ paused, inactive {2,}0 /)
    const { webhooks: streams } = (await run('webhook', 'list', '--json')).json()
    expect(streams).toMatchObject([{ state: 'paused', active: false }])
  })

  it('pause ends with 1 for a deleted webhook whose events are being discarded', async () => {
    await addStream('wh_1', { isDeleted: true })
    expect(await run('webhook', 'pause', 'wh_1')).toMatchObject({
      ...{ code: 1, out: '', err: expect.stringMatching(/^wh_1 is deleted: /) },
    })
    expect(await streamOf('wh_1')).toMatchObject({ paused_at: null })
  })

  it('resume makes the stream due at once, as if it had never failed', async () => {
    await addStream('wh_1', { state: 'idle', isPaused: true, failingFor: '4 days' })
    const { code, out } = await run('webhook', 'resume', 'wh_1')
    expect({ code, out }).toEqual({
      code: 0,
      out: 'Resumed wh_1 of tn_a: running dispatchers try it within a second.\n',
    })
    expect(await streamOf('wh_1')).toEqual({
      ...{ state: 'active', paused_at: null, is_due: true },
      ...{ fail_count: 0, first_failure_at: null },
    })
    expect((await run('webhook', 'resume', 'wh_1', '--json')).json()).toEqual({
      ...{ webhook_id: 'wh_1', tenant_id: 'tn_a', paused_at: null, active: true, parked_due: 0 },
    })
  })

  it.each([
    [{ isActive: false }, 'inactive'],
    [{ isDeleted: true }, 'deleted'],
  ])('resume says what happens to the queue of %j', async (o, word) => {
    await addStream('wh_1', { isPaused: true, ...o })
    expect((await run('webhook', 'resume', 'wh_1')).out).toBe(
      `Resumed wh_1 of tn_a: but the webhook is ${word}, so running dispatchers discard what is queued for it.\n`,
    )
  })

  it.each(['pause', 'resume'])('%s ends with 1 for an unknown webhook', async (verb) => {
    expect(await run('webhook', verb, 'wh_absent')).toEqual({
      ...{ code: 1, out: '', err: 'There is no webhook wh_absent\n', json: expect.anything() },
    })
    expect(await run('webhook', verb)).toMatchObject({ code: 2 })
  })
})
