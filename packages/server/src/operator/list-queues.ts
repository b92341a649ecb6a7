/** getQueues: what waits of mailers and webhooks over all tenants, late ones first, then the oldest. */
import type { GetQueuesAnswer, GetQueuesQuery, OperatedQueue } from '@postrider/contract'
import { findHeldOf, findLate, LATE_AFTER_MS, observeMailers } from '../mailers/index.ts'
import { type Db, readInOrder, readNowMs, type Tx } from '../platform/db/index.ts'
import { bucketCount, bucketOf } from '../platform/db/leases.ts'
import { cutPage, readPage } from '../platform/http/paging.ts'
import { countQueues, discoverQueues } from '../sending/index.ts'
import { findHeldTenants } from '../tenants/index.ts'
import { countStreams, listBusyStreams } from '../webhooks/index.ts'

const everyBucket = Array.from({ length: bucketCount }, (_, bucket) => bucket)
const COUNT_MAX = 10_000
const STREAMS_MAX = 10_000
const STATEMENT_TIMEOUT_MS = 5_000
/** A dispatcher that keeps up takes events within the second. */
const PENDING_MS_MAX = 5 * 60_000
/** Where a queue stands in the list: late or not, the oldest first, then by id. */
const PLACE = /^[01]\.\d{15}\.[A-Za-z0-9_]{1,64}$/
const NEVER_MS = 999_999_999_999_999

interface Queue {
  readonly kind: OperatedQueue['kind']
  readonly tenantId: string
  readonly id: string
  readonly isLate: boolean
  readonly isHeld: boolean
  readonly oldestMs: number | undefined
  /** Of a webhook. */
  readonly state?: string
}

export async function listQueues(
  db: Db,
  query: GetQueuesQuery,
): Promise<Pick<GetQueuesAnswer, 'queues' | 'nextPageToken'>> {
  const page = readPage(query, 'queues', PLACE)
  return await readInOrder(db, async (tx) => {
    await tx.query(`set local statement_timeout = ${STATEMENT_TIMEOUT_MS}`)
    const nowMs = await readNowMs(tx)
    const found = [
      ...(query.kind === 'webhook' ? [] : await findMailQueues(tx, nowMs)),
      ...(query.kind === 'mailer' ? [] : await findEventQueues(tx, nowMs)),
    ].map((queue) => ({ queue, place: placeOf(queue) }))
    const { before: after } = page
    const sorted = found
      .filter(({ place }) => after === undefined || place > after)
      .sort((a, b) => (a.place < b.place ? -1 : 1))
    const { rows, ...token } = cutPage(sorted, page, ({ place }) => place)
    const queues = rows.map(({ queue }) => queue)
    const [mail, events] = await Promise.all([countMail(tx, queues), countEvents(tx, queues)])
    const counted = new Map([...mail, ...events])
    return { queues: queues.flatMap((queue) => counted.get(queue) ?? []), ...token }
  })
}

function placeOf({ isLate, oldestMs = NEVER_MS, id }: Queue): string {
  return `${isLate ? 0 : 1}.${String(Math.round(oldestMs)).padStart(15, '0')}.${id}`
}

/** `nowMs` by the database's clock: a queue that does not move keeps its place. */
async function findMailQueues(tx: Tx, nowMs: number): Promise<Queue[]> {
  const ages = new Map<string, { tenantId: string; mailerId: string; dueForMs: number }>()
  for (const { tenantId, mailerId, waitMs } of await discoverQueues(tx, everyBucket)) {
    const known = ages.get(mailerId)
    if (known === undefined || known.dueForMs < -waitMs)
      ages.set(mailerId, { tenantId, mailerId, dueForMs: -waitMs })
  }
  const held = new Set(await findHeldOf(tx, [...ages.values()]))
  const old = [...ages.values()].filter((one) => one.dueForMs > LATE_AFTER_MS && !held.has(one))
  const late = new Set((await findLate(tx, old)).map(({ mailerId }) => mailerId))
  return [...ages.values()].map((one) => {
    const { tenantId, mailerId: id, dueForMs } = one
    const oldestMs = dueForMs >= 0 ? nowMs - dueForMs : undefined
    const isHeld = held.has(one)
    return { kind: 'mailer', tenantId, id, isLate: late.has(id), isHeld, oldestMs }
  })
}

async function findEventQueues(tx: Tx, nowMs: number): Promise<Queue[]> {
  const streams = await listBusyStreams(tx, everyBucket, STREAMS_MAX)
  return streams.map(({ tenantId, webhookId: id, condition: state, oldestAt }) => {
    const oldestMs = oldestAt?.getTime()
    const isBehind = oldestMs !== undefined && nowMs - oldestMs > PENDING_MS_MAX
    const isLate = state === 'failing' || state === 'dormant' || (state === 'active' && isBehind)
    const isHeld = state === 'paused'
    return { kind: 'webhook', tenantId, id, isLate, isHeld, oldestMs, state }
  })
}

type Counted = [Queue, OperatedQueue]

async function countMail(tx: Tx, queues: readonly Queue[]): Promise<Counted[]> {
  const mailers = queues
    .filter(({ kind }) => kind === 'mailer')
    .map((queue) => ({ queue, tenantId: queue.tenantId, mailerId: queue.id }))
  const classes = mailers.flatMap(({ queue: { isHeld }, tenantId, mailerId }) =>
    [false, true].map((isBulk) => ({
      ...{ tenantId, mailerId, isBulk, isHeld, bucket: bucketOf(mailerId) },
    })),
  )
  const [counts, observed, tenants] = await Promise.all([
    countQueues(tx, classes, COUNT_MAX),
    observeMailers(tx, mailers),
    findHeldTenants(
      tx,
      mailers.map(({ tenantId }) => tenantId),
    ),
  ])
  const states = new Map(observed.map(({ mailer }) => [mailer.mailerId, mailer.state]))
  return mailers.map(({ queue, mailerId }) => {
    const own = counts.filter((one) => one.mailerId === mailerId)
    const sum = (field: 'due' | 'waiting' | 'held') => own.reduce((n, one) => n + one[field], 0)
    const counted = { due: sum('due'), waiting: sum('waiting'), held: sum('held') }
    const tenant = tenants.get(queue.tenantId)
    const state = tenant === undefined ? states.get(mailerId) : (`tenant_${tenant.state}` as const)
    return [queue, toWire(queue, state ?? 'deleted', counted)]
  })
}

async function countEvents(tx: Tx, queues: readonly Queue[]): Promise<Counted[]> {
  const webhooks = queues.filter(({ kind }) => kind === 'webhook')
  const keys = webhooks.map(({ tenantId, id }) => ({ tenantId, webhookId: id }))
  const counts = new Map(
    (await countStreams(tx, keys, COUNT_MAX)).map((one) => [one.webhookId, one]),
  )
  return webhooks.map((queue) => {
    const { pending = 0, open: waiting = 0 } = counts.get(queue.id) ?? {}
    const counted = queue.isHeld ? { due: 0, held: pending } : { due: pending, held: 0 }
    return [queue, toWire(queue, queue.state ?? 'idle', { ...counted, waiting })]
  })
}

function toWire(
  { kind, id, tenantId, isLate, oldestMs }: Queue,
  state: string,
  counts: { readonly due: number; readonly waiting: number; readonly held: number },
): OperatedQueue {
  return {
    kind,
    ...(kind === 'mailer' ? { mailer_id: id } : { webhook_id: id }),
    tenant_id: tenantId,
    state,
    late: isLate,
    due: Math.min(COUNT_MAX, counts.due),
    waiting: Math.min(COUNT_MAX, counts.waiting),
    held: Math.min(COUNT_MAX, counts.held),
    oldest_at: oldestMs === undefined ? null : new Date(oldestMs).toISOString(),
  }
}
