/** `postrider mailer list`: every mailer with its queue and its last error, what needs a look first. */
import type { TenantState } from '@postrider/contract'
import {
  findHeldOf,
  LATE_AFTER_MS,
  type OperatedMailer,
  operatedMailers,
  printable,
} from '../mailers/index.ts'
import { type Db, readInOrder } from '../platform/db/index.ts'
import { bucketCount } from '../platform/db/leases.ts'
import { ApiError } from '../platform/errors.ts'
import { describeDuration } from '../platform/values/duration.ts'
import { countQueues, discoverQueues } from '../sending/index.ts'
import { findHeldTenants } from '../tenants/index.ts'
import { type Result, table } from './output.ts'
import { tenantIdsOf } from './read-all.ts'

const COUNT_MAX = 10_000
const ERROR_CHARS_MAX = 70
const everyBucket = Array.from({ length: bucketCount }, (_, bucket) => bucket)

interface Queue {
  readonly due: number
  readonly waiting: number
  readonly held: number
  /** Since when its oldest due mail is due. */
  readonly oldest_due_at: string | null
}

type Listed = OperatedMailer & {
  readonly tenant_state: TenantState
  readonly queue: Queue
}

export async function listMailersResult(
  db: Db,
  options: { readonly tenant?: string },
): Promise<Result> {
  const nowMs = Date.now()
  const sorted = (await readMailers(db, options.tenant, nowMs)).toSorted(
    (a, b) => urgencyOf(b, nowMs) - urgencyOf(a, nowMs),
  )
  const lines = sorted.map((one) => lineOf(one, nowMs))
  const text =
    lines.length === 0 ? 'No mailers' : `${table([HEAD, ...lines])}${hintOf(sorted, nowMs)}`
  return { json: { mailers: sorted }, text }
}

export async function showMailerResult(
  db: Db,
  mailerId: string,
  options: { readonly tenant?: string },
): Promise<Result> {
  const nowMs = Date.now()
  const all = await readMailers(db, options.tenant, nowMs)
  const found = all.find((one) => one.mailer_id === mailerId)
  if (found === undefined)
    throw new ApiError('not_found', { message: `There is no mailer ${printable(mailerId)}` })
  const values = lineOf(found, nowMs)
  const lines = HEAD.map((name, i) => [name.toLowerCase(), values[i] ?? ''])
  return { json: { mailer: found }, text: `${table(lines)}${hintOf([found], nowMs)}` }
}

async function readMailers(db: Db, tenant: string | undefined, nowMs: number): Promise<Listed[]> {
  const tenantIds = await tenantIdsOf(db, tenant)
  const queues = await readQueues(db, nowMs)
  const held = await findHeldTenants(db, tenantIds)
  const mailers: Listed[] = []
  for (const tenantId of tenantIds)
    for (const mailer of await operatedMailers(db, tenantId))
      mailers.push({
        ...mailer,
        tenant_state: held.get(tenantId)?.state ?? 'active',
        queue: queues.get(mailer.mailer_id) ?? NO_QUEUE,
      })
  return mailers
}

const NO_QUEUE: Queue = { due: 0, waiting: 0, held: 0, oldest_due_at: null }

async function readQueues(db: Db, nowMs: number): Promise<ReadonlyMap<string, Queue>> {
  return await readInOrder(db, async (tx) => {
    const found = await discoverQueues(tx, everyBucket)
    const heldOnes = new Set(await findHeldOf(tx, found))
    const known = found.map((queue) => ({ ...queue, isHeld: heldOnes.has(queue) }))
    const queues = new Map<string, Queue>()
    for (const { mailerId, due, waiting, held } of await countQueues(tx, known, COUNT_MAX)) {
      const other = queues.get(mailerId) ?? NO_QUEUE
      queues.set(mailerId, {
        ...other,
        due: other.due + due,
        waiting: other.waiting + waiting,
        held: other.held + held,
      })
    }
    for (const { mailerId, waitMs, isHeld } of known) {
      const queue = queues.get(mailerId)
      if (queue === undefined || waitMs > 0 || isHeld) continue
      const at = new Date(nowMs + waitMs).toISOString()
      const oldest = queue.oldest_due_at
      queues.set(mailerId, {
        ...queue,
        oldest_due_at: oldest !== null && oldest < at ? oldest : at,
      })
    }
    return queues
  })
}

const HEAD = [
  'MAILER',
  'TENANT',
  'STATE',
  'SERVER',
  'SENDS FOR',
  'DUE',
  'WAITING',
  'HELD',
  'OLDEST DUE',
  'LAST ERROR',
]

function lineOf(one: Listed, nowMs: number): string[] {
  const { queue, last_error: error } = one
  const reason = one.state_reason === null ? '' : ` (${one.state_reason})`
  const suspension = one.tenant_state === 'active' ? '' : `, tenant ${one.tenant_state}`
  return [
    one.mailer_id,
    one.tenant_id,
    `${one.state}${reason}${suspension}`,
    printable(one.host),
    printable(one.email),
    atLeast(queue.due),
    atLeast(queue.waiting),
    atLeast(queue.held),
    queue.oldest_due_at === null ? '-' : describeDuration(ageOf(queue.oldest_due_at, nowMs)),
    error === null
      ? '-'
      : `${describeDuration(ageOf(error.at, nowMs))} ago: ${shortened(error.provider_error === '' ? error.failed_reason : error.provider_error)}`,
  ]
}

function atLeast(count: number): string {
  return count < COUNT_MAX ? String(count) : `${COUNT_MAX}+`
}

function ageOf(at: string, nowMs: number): number {
  return Math.max(0, nowMs - Date.parse(at))
}

function shortened(text: string): string {
  const line = printable(text)
  return line.length > ERROR_CHARS_MAX ? `${line.slice(0, ERROR_CHARS_MAX)}…` : line
}

function isOld({ queue }: Listed, nowMs: number): boolean {
  return queue.oldest_due_at !== null && ageOf(queue.oldest_due_at, nowMs) > LATE_AFTER_MS
}

/** Mail that is held, then mail that is due for long, then mail that waits, then the rest. */
function urgencyOf(one: Listed, nowMs: number): number {
  const { waiting, held } = one.queue
  if (held > 0) return 4
  if (one.state !== 'active') return 1
  if (isOld(one, nowMs)) return 3
  return waiting > 0 ? 2 : 0
}

function hintOf(mailers: readonly Listed[], nowMs: number): string {
  const suspended = mailers.find((one) => one.tenant_state === 'suspended')
  const held = mailers.find((one) => one.queue.held > 0 && one.state !== 'active')
  const old = mailers.find((one) => urgencyOf(one, nowMs) === 3)
  const hints = [
    ...(suspended === undefined
      ? []
      : [
          `The tenant ${suspended.tenant_id} is suspended: its mail is held until postrider tenant activate ${suspended.tenant_id}`,
        ]),
    ...(held === undefined
      ? []
      : [
          `The mail of ${held.mailer_id} is held until the mailer is active: give it a login that works (PUT /v1/smtp/${held.mailer_id}).`,
        ]),
    ...(old === undefined
      ? []
      : [
          `To see whether the server of ${old.mailer_id} answers: postrider mailer test ${old.mailer_id}`,
        ]),
  ]
  return hints.length === 0 ? '' : `\n\n${hints.join('\n')}`
}
