/** Recipients with data of their own, beyond the first attempt by SMTP: by relays, when rescued, and in quotas. */
import { rescueEmailsAnswer } from '@postrider/contract'
import { createSendGridServer, createSparkPostServer } from '@postrider/testkit'
import PostalMime from 'postal-mime'
import { beforeEach, describe, expect, it } from 'vitest'
import { useBulkOperations } from '../../../test/bulk-operations.ts'
import { emptyTables } from '../../../test/empty-tables.ts'
import { OWN_ARGS, order, SHARED_ARGS, useOwnData } from '../../../test/own-data.ts'
import { drain, eventsOf, noUsageCounts, recipientsOf, useSending } from '../../../test/sender.ts'
import { addDomainMailer, addMailer, emailBody } from '../../../test/sending.ts'
import { updateTenant } from '../../tenants/index.ts'
import { countQueued } from '../queue-watch/tenant-store.ts'
import type { RescueDeps } from '../rescue/rescue-emails.ts'
import { rescueRoutes } from '../rescue/routes.ts'

const DAY_MS = 86_400_000
const world = useSending()
const { accept, ready } = useOwnData(world)
const bulk = useBulkOperations<RescueDeps>(world, (app, parts) =>
  rescueRoutes(app, {
    ...{ ...parts, clock: { now: () => new Date() } },
    ...{ retentionMs: 30 * DAY_MS, contentRetentionMs: 30 * DAY_MS },
    usageCounts: noUsageCounts,
  }),
)
beforeEach(() => emptyTables(world.db, 'tenants_usage', 'tenants_tenant'))

const COPIES = [
  ['ada@example.com', 'Order 1 of Tea', '<p>Ada at Tea</p>'],
  ['bob@example.com', 'Order 2 of Tea', '<p>Bob at Tea</p>'],
  ['cy@example.com', 'Order of Tea', '<p>friend at Tea</p>'],
  ['dee@example.com', 'Order of Tea', '<p>friend at Tea</p>'],
]
const ARGS = [
  ['ada@example.com', OWN_ARGS],
  ['bob@example.com', SHARED_ARGS],
  ['cy@example.com', SHARED_ARGS],
  ['dee@example.com', SHARED_ARGS],
]

const byName = (a: readonly unknown[], b: readonly unknown[]) =>
  String(a[0]).localeCompare(String(b[0]))

/** By recipient: what the last events told of the email. */
async function argsOf(refId: string) {
  const told = (await eventsOf(world.db, refId)).map(({ details }) => details)
  return [...new Map(told.map((one) => [one.email[0], one.custom_args]))].sort(byName)
}

type Server = Awaited<ReturnType<typeof world.serve>>
async function copiesOf({ messages }: Server) {
  const copies = messages.map(async ({ raw, recipients }) => {
    const { subject, html } = await PostalMime.parse(raw)
    return [String(recipients[0]).replace(/[<>]/g, ''), subject, html?.trim()]
  })
  return (await Promise.all(copies)).sort(byName)
}

const RELAYS = { sparkpost: createSparkPostServer, sendgrid: createSendGridServer } as const

describe.each(['sparkpost', 'sendgrid'] as const)('by %s', (relay) => {
  it('each recipient gets its own copy, and each event its own custom_args', async () => {
    const provider = await RELAYS[relay]()
    try {
      provider.domains.add('example.com')
      const refused = { status: 400, json: { errors: [{ message: 'No such recipient.' }] } }
      let isRefusing = false
      provider.setScript(() => (isRefusing ? refused : undefined))
      const { apiBase, apiKey } = provider
      await addDomainMailer(world.db, { relay, apiBase, apiKey })
      const refId = await accept(order)
      await drain(world.db, world.sender())
      const copies = provider.mails.map(({ to, subject, html }) => [to, subject, html])
      expect(copies.sort(byName)).toEqual(COPIES)
      expect(await argsOf(refId)).toEqual([])

      isRefusing = true
      const other = await accept(order)
      await drain(world.db, world.sender())
      expect((await recipientsOf(world.db, other)).map(({ status }) => status)).toEqual(
        COPIES.map(() => 'failed'),
      )
      expect(await argsOf(other)).toEqual(ARGS)
    } finally {
      await provider.close()
    }
  })
})

describe('rescued', () => {
  it.each(['the same', 'another'])(
    'by %s mailer, each gets its own copy and events',
    async (by) => {
      const { server, script } = await bulk.serveMail('550 5.7.1 not now')
      const refId = await accept(order)
      await drain(world.db, world.sender())
      expect(await argsOf(refId)).toEqual(ARGS)
      script.reply = undefined
      const next = await world.serve()
      const other = await addMailer(world.db, { email: 'other@example.com', port: next.port })
      const { body } = await bulk.call(
        { path: '/v1/email/rescue', shape: rescueEmailsAnswer },
        { ref_ids: [refId], ...(by === 'another' ? { mailer_id: other.mailerId } : {}) },
      )
      expect(body.rescued).toBe(4)
      await emptyTables(world.db, 'webhooks_event')
      await drain(world.db, world.sender())
      const [used, unused] = by === 'another' ? [next, server] : [server, next]
      expect(await copiesOf(used)).toEqual(COPIES)
      expect(unused.messages).toEqual([])
      expect(await argsOf(refId)).toEqual(ARGS)
    },
  )
})

describe('a quota', () => {
  const deps = () => ({
    db: world.db,
    ...{ retentionMs: 30 * DAY_MS, contentRetentionMs: 30 * DAY_MS },
    countQueued,
  })
  const long = 'x'.repeat(50_000)
  const given = (count: number) => ({
    content: emailBody().content?.map((part) => ({ ...part, value: '{{ name }} {{ x }}' })) ?? [],
    template_data: { x: long },
    to: Array.from({ length: 4 }, (_, i) => ({
      email: `to${i}@example.com`,
      ...(i < count ? { template_data: { name: `n${i}` } } : {}),
    })),
  })

  it('of bytes counts each rendering once, and one of recipients counts no rendering', async () => {
    await world.db.query(`insert into tenants_tenant (tenant_id, name) values ('tn_a', 'Acme')`)
    await addMailer(world.db)
    await updateTenant(deps(), 'tn_a', { quotas: { queued_max: 8, storage_bytes_max: 300_000 } })
    const used = async () => {
      const { rows } = await world.db.query<{ queued: number; bytes: number }>(
        'select queued::int, storage_bytes::int as bytes from tenants_usage',
      )
      return rows[0] ?? { queued: 0, bytes: 0 }
    }
    await accept(given(0))
    const plain = await used()
    expect(plain.queued).toBe(4)
    await expect(accept(given(4))).rejects.toMatchObject({
      code: 'quota_exceeded',
      errors: [{ path: expect.stringContaining('storage_bytes_max') }],
    })
    expect(await used()).toEqual(plain)
    const { email } = await ready(given(3))
    const renderings = email.own?.renderings.reduce((sum, { octets }) => sum + octets, 0) ?? 0
    expect(renderings).toBeGreaterThan(150_000)
    await accept(given(3))
    const { queued, bytes } = await used()
    expect(queued).toBe(8)
    expect(bytes - 2 * plain.bytes).toBeGreaterThanOrEqual(renderings)
    await expect(
      accept({ to: [{ email: 'a@example.com', custom_args: { a: 1 } }] }),
    ).rejects.toMatchObject({
      errors: [{ path: expect.stringContaining('queued_max') }],
    })
  })
})
