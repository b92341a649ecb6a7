/** `postrider webhook list`, `pause`, `resume` and `replay`: the way of events to webhooks, over all tenants. */
import type { OperationId } from '@postrider/contract'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { createClock } from '../platform/clock.ts'
import type { Db } from '../platform/db/index.ts'
import { ApiError } from '../platform/errors.ts'
import { parseTimeSpan } from '../platform/values/date-time.ts'
import { describeDuration, parseDuration } from '../platform/values/duration.ts'
import { hasTenant } from '../tenants/index.ts'
import {
  type ListedStream,
  listStreams,
  ownerOfStream,
  pauseStream,
  pendingMax,
  replayStream,
  resumeStream,
  searchWebhooks,
} from '../webhooks/index.ts'
import { audited } from './audited.ts'
import { json, named, type OnDatabase, ofTenant, type Result, table } from './output.ts'
import { ownerOf } from './read-all.ts'

export function addStreamCommands(group: Command, onDatabase: OnDatabase): void {
  group
    .command('list')
    .description(
      'list webhooks with their waiting events, those of mailboxes and inbound domains too',
    )
    .option(
      '--failing',
      'only those whose last request failed, or whose receiver refuses everything',
    )
    .addOption(new Option('--tenant <tenant_id>', 'only those of a tenant'))
    .addOption(json())
    .action(onDatabase((db, options: ListOptions) => listResult(db, options)))
  group
    .command('pause')
    .description('stop sending to a webhook, and keep its events')
    .argument('<webhook_id>')
    .addOption(ofTenant(OF_ID))
    .addOption(json())
    .action(onDatabase(onStream('pauseWebhook', pauseResult)))
  group
    .command('resume')
    .description('end a pause or a back-off: the webhook is tried at once, parked events too')
    .argument('<webhook_id>')
    .addOption(ofTenant(OF_ID))
    .addOption(json())
    .action(onDatabase(onStream('resumeWebhook', resumeResult)))

  const replayed = onStream('replayWebhookEvents', replayResult)
  const replay = onDatabase((db, webhookId: string, options: ReplayOptions, _command: Command) =>
    replayed(db, webhookId, options),
  )
  group
    .command('replay')
    .description('send recorded events to a webhook again, behind live events')
    .argument('<webhook_id>')
    .addOption(
      new Option('--since <when>', 'since then: RFC 3339 time, date, or a duration ago such as 6h')
        .argParser(readInstant)
        .conflicts('refId'),
    )
    .addOption(new Option('--until <when>', 'until then').argParser(readInstant))
    .option('--undelivered', 'only events that are in no delivered delivery')
    .option('--ref-id <ref_id>', 'only those of one email')
    .addOption(ofTenant(OF_ID))
    .addOption(json())
    .action(async (webhookId: string, options: ReplayOptions, command: Command) => {
      const { since, undelivered, refId } = options
      if (since === undefined && refId === undefined && undelivered !== true)
        command.error('error: say what to replay: --since, --undelivered or --ref-id')
      await replay(webhookId, options, command)
    })
}

const OF_ID = 'whose it must be'

interface OfTenant {
  readonly tenant?: string
}

/** Streams outlive their webhooks: without a tenant, they are found by themselves. */
async function tenantOf(db: Db, id: string, { tenant }: OfTenant): Promise<string> {
  if (tenant !== undefined)
    return await ownerOf(db, { what: 'webhook', id, search: searchWebhooks }, tenant)
  return await named(absence(id), () => ownerOfStream({ db }, id))
}

function onStream<O extends OfTenant>(
  operation: OperationId,
  work: (db: Db, webhookId: string, options: O) => Promise<Result>,
) {
  return async (db: Db, webhookId: string, options: O): Promise<Result> => {
    const tenantId = await tenantOf(db, webhookId, options)
    const call = { operation, tenantId, target: webhookId }
    return await audited(db, { ...call, work: () => work(db, webhookId, options) })
  }
}

interface ListOptions extends OfTenant {
  readonly failing?: true
}

async function listResult(db: Db, options: ListOptions): Promise<Result> {
  if (options.tenant !== undefined && !(await hasTenant(db, options.tenant)))
    throw new ApiError('not_found', { message: `There is no tenant ${options.tenant}` })
  const streams = await listStreams(
    { db },
    {
      isFailing: options.failing === true,
      ...(options.tenant === undefined ? {} : { tenantId: options.tenant }),
    },
  )
  const nowMs = Date.now()
  const lines = streams.map((one) => lineOf(one, nowMs))
  const text = lines.length === 0 ? 'No webhooks' : table([HEAD, ...lines])
  const hasParked = streams.some((one) => one.deliveries_parked > 0)
  return { json: { webhooks: streams }, text: hasParked ? `${text}\n\n${PARKED_HINT}` : text }
}

const PARKED_HINT =
  'Parked: events that their receiver refuses one by one. GET /v1/webhook/deliveries?status=parked names them; webhook resume tries them at once.'

const HEAD = [
  'WEBHOOK',
  'TENANT',
  'EVENT',
  'STATE',
  'PENDING',
  'OLDEST',
  'OPEN',
  'PARKED',
  'FAILING SINCE',
  'NEXT ATTEMPT',
  'LAST OK',
  'PAUSED',
  'ORIGIN',
]

function lineOf(stream: ListedStream, nowMs: number): string[] {
  const { events_pending: pending, oldest_pending_at: oldestAt } = stream
  return [
    stream.webhook_id,
    stream.tenant_id,
    stream.owner ?? stream.event ?? '-',
    stream.state === 'paused' && stream.active === false ? 'paused, inactive' : stream.state,
    pending < pendingMax ? String(pending) : `${pendingMax}+`,
    oldestAt === null ? '-' : describeDuration(Math.max(0, nowMs - Date.parse(oldestAt))),
    String(stream.deliveries_open),
    String(stream.deliveries_parked),
    stream.failing_since === null
      ? '-'
      : `${toSeconds(stream.failing_since)} (${countOf(stream.failures, 'time')})`,
    toSeconds(stream.next_attempt_at),
    toSeconds(stream.last_ok_at),
    toSeconds(stream.paused_at),
    stream.origin ?? '-',
  ]
}

function toSeconds(at: string | null): string {
  return at === null ? '-' : `${at.slice(0, 19)}Z`
}

async function pauseResult(db: Db, webhookId: string): Promise<Result> {
  const { tenantId, pausedAt, isActive } = await named(absence(webhookId), () =>
    pauseStream({ db }, webhookId),
  )
  const at = pausedAt.toISOString()
  const follows = isActive
    ? 'Events wait for as long as POSTRIDER_RETENTION keeps them.'
    : 'The webhook is inactive: its events are recorded, and none waits.'
  return {
    json: { webhook_id: webhookId, tenant_id: tenantId, paused_at: at, active: isActive },
    text: `Paused ${webhookId} of ${tenantId} since ${toSeconds(at)}: a request under way still ends, then nothing is sent.\n${follows}`,
  }
}

async function resumeResult(db: Db, webhookId: string): Promise<Result> {
  const { tenantId, isActive, parked } = await named(absence(webhookId), () =>
    resumeStream({ db }, webhookId),
  )
  const state = isActive === null ? 'deleted' : 'inactive'
  const follows =
    isActive === true
      ? `running dispatchers try it within a second${parked === 0 ? '' : `, ${parked} parked events too`}.`
      : `but the webhook is ${state}, so running dispatchers discard what is queued for it.`
  return {
    json: {
      webhook_id: webhookId,
      tenant_id: tenantId,
      paused_at: null,
      active: isActive === true,
      parked_due: parked,
    },
    text: `Resumed ${webhookId} of ${tenantId}: ${follows}`,
  }
}

interface ReplayOptions extends OfTenant {
  readonly since?: string
  readonly until?: string
  readonly undelivered?: true
  readonly refId?: string
}

const THE_BEGINNING = '1970-01-01'

async function replayResult(db: Db, webhookId: string, options: ReplayOptions): Promise<Result> {
  const { since, until, undelivered, refId } = options
  const start = since ?? (refId === undefined ? THE_BEGINNING : undefined)
  // Nobody in this process delivers.
  const deps = { db, clock: createClock(), wakeups: { wake: () => undefined } }
  const { tenantId, replayed, pausedAt } = await named(absence(webhookId), () =>
    replayStream(deps, webhookId, {
      ...(start === undefined ? {} : { start }),
      ...(until === undefined ? {} : { end: until }),
      ...(undelivered === true ? { undelivered } : {}),
      ...(refId === undefined ? {} : { ref_id: refId }),
    }),
  )
  const paused_at = pausedAt === null ? null : pausedAt.toISOString()
  const replayedEvents = replayed === 0 ? 'nothing' : countOf(replayed, 'event')
  const follows =
    replayed === 0
      ? 'no recorded event matches with its switch on, or all of them wait already.'
      : paused_at === null
        ? 'they go behind live events; running dispatchers find them within a second.'
        : `it is paused since ${toSeconds(paused_at)}, so they wait until postrider webhook resume ${webhookId}.`
  return {
    json: { webhook_id: webhookId, tenant_id: tenantId, replayed, paused_at },
    text: `Replayed ${replayedEvents} to ${webhookId} of ${tenantId}: ${follows}`,
  }
}

/** Kept as it is written: a date stands for its whole day. */
function readInstant(text: string): string {
  const agoMs = parseDuration(text)
  if (agoMs !== undefined) return new Date(Math.max(0, Date.now() - agoMs)).toISOString()
  if (parseTimeSpan(text) === undefined)
    throw new InvalidArgumentError('Give an RFC 3339 time, a date, or a duration such as 6h.')
  return text
}

function countOf(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}

function absence(webhookId: string): string {
  return `There is no webhook ${webhookId}`
}
