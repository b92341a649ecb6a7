/** `postrider webhook`: the webhooks of one tenant, as its own keys see them. */
import {
  type EventName,
  eventNames,
  type WebhookDelivery,
  type WebhookDeliveryStatus,
  type WebhookStatus,
  webhookDeliveryStatuses,
} from '@postrider/contract'
import { createConcurrencyLimiter } from '@postrider/runtime/concurrency-limiter'
import { type Command, Option } from 'commander'
import { type Config, isPaused } from '../config.ts'
import { printable } from '../mailers/index.ts'
import { createClock } from '../platform/clock.ts'
import type { Db } from '../platform/db/index.ts'
import { createRateLimit } from '../platform/limits/rate-limit.ts'
import type { Logger } from '../platform/log.ts'
import { createKeyRing } from '../platform/secrets/index.ts'
import { requireSecrets } from '../platform/secrets/stored-secrets.ts'
import { startTrace } from '../platform/trace.ts'
import {
  createTargetCache,
  getWebhookStatus,
  listDeliveries,
  listStreams,
  pauseWebhook,
  resumeWebhook,
  sendTestEvent,
} from '../webhooks/index.ts'
import { json, named, type OnDatabase, type Result, table } from './output.ts'
import { tenantIdsOf } from './read-all.ts'
import { withEgress } from './try-login.ts'

export interface WebhookCommandDeps {
  readonly config: () => Config
  readonly log: Logger
  readonly onDatabase: OnDatabase
}

interface OfTenant {
  readonly tenant: string
}
interface DeliveriesOptions extends OfTenant {
  readonly status?: WebhookDeliveryStatus
}

/** One screen. */
const LISTED_MAX = 50

export function addWebhookCommands(program: Command, deps: WebhookCommandDeps): void {
  const { onDatabase } = deps
  const group = program.command('webhook').description('the webhooks of a tenant')
  const command = (name: string, about: string) =>
    group
      .command(name)
      .description(about)
      .requiredOption('--tenant <tenant_id>', 'the tenant')
      .addOption(json())
  command('list', 'list all webhooks, those of mailboxes and inbound domains too').action(
    onDatabase((db, options: OfTenant) => listResult(db, options)),
  )
  command('status', 'show where a webhook stands, and what waits for it')
    .argument('<webhook_id>')
    .action(onDatabase((db, id: string, options: OfTenant) => statusResult(db, id, options)))
  command('pause', 'send nothing to a webhook, and keep its events')
    .argument('<webhook_id>')
    .action(
      onDatabase((db, id: string, options: OfTenant) =>
        changed(db, id, options, (key) => pauseWebhook({ db }, key)),
      ),
    )
  command('resume', 'send what waited, in order')
    .argument('<webhook_id>')
    .action(
      onDatabase((db, id: string, options: OfTenant) =>
        // Running dispatchers find it within a second.
        changed(db, id, options, (key) =>
          resumeWebhook({ db, wakeups: { wake: () => undefined } }, key),
        ),
      ),
    )
  command('test', 'send a made-up event, and show what the receiver answers')
    .argument('<webhook_id>')
    .argument('<event>', `such as ${eventNames[0]}`)
    .action(
      onDatabase((db, id: string, event: string, options: OfTenant) =>
        testResult({ db, log: deps.log, config: deps.config() }, { id, event }, options),
      ),
    )
  command('deliveries', 'list the newest deliveries')
    .addOption(new Option('--status <status>', 'only such').choices(webhookDeliveryStatuses))
    .action(onDatabase((db, options: DeliveriesOptions) => deliveriesResult(db, options)))
}

async function listResult(db: Db, { tenant }: OfTenant): Promise<Result> {
  const [tenantId] = await tenantIdsOf(db, tenant)
  const webhooks = await listStreams({ db }, { tenantId: tenantId ?? tenant })
  const lines = webhooks.map((one) => [
    one.webhook_id,
    one.owner ?? one.event ?? '-',
    one.state,
    String(one.events_pending),
    one.origin ?? '-',
  ])
  const head = ['WEBHOOK', 'EVENT', 'STATE', 'PENDING', 'ORIGIN']
  return {
    json: { webhooks },
    text: lines.length === 0 ? 'No webhooks' : table([head, ...lines]),
  }
}

type Key = { readonly tenantId: string; readonly webhookId: string }

async function changed(
  db: Db,
  webhookId: string,
  { tenant: tenantId }: OfTenant,
  work: (key: Key) => Promise<WebhookStatus>,
): Promise<Result> {
  await tenantIdsOf(db, tenantId)
  const status = await named(`${tenantId} has no webhook ${printable(webhookId)}`, () =>
    work({ tenantId, webhookId }),
  )
  return { json: { webhook_id: webhookId, status }, text: statusText(status) }
}

function statusResult(db: Db, webhookId: string, options: OfTenant): Promise<Result> {
  return changed(db, webhookId, options, (key) => getWebhookStatus({ db }, key))
}

function statusText(status: WebhookStatus): string {
  return table(
    Object.entries(status).map(([name, value]) => [
      name.replaceAll('_', ' '),
      value === null ? '-' : String(value),
    ]),
  )
}

async function testResult(
  { db, log, config }: { readonly db: Db; readonly log: Logger; readonly config: Config },
  { id: webhookId, event }: { readonly id: string; readonly event: string },
  { tenant: tenantId }: OfTenant,
): Promise<Result> {
  await tenantIdsOf(db, tenantId)
  const keyRing = createKeyRing(requireSecrets(config).secretKeys)
  const order = { event: event as EventName, traceparent: startTrace() }
  const test = await withEgress(config, (egress) =>
    named(`${tenantId} has no webhook ${printable(webhookId)}`, () =>
      sendTestEvent(
        { db, tests: testsOf({ config, egress, keyRing, log }) },
        { tenantId, webhookId },
        order,
      ),
    ),
  )
  const lines = [
    ['accepted', test.accepted ? 'yes' : 'no'],
    ['status', String(test.status ?? '-')],
    ['duration', `${test.duration_ms} ms`],
    ['error', printable(test.error ?? '-')],
    ['response', printable(test.response ?? '-')],
  ]
  return { json: { webhook_id: webhookId, test }, text: table(lines) }
}

type Tests = Parameters<typeof sendTestEvent>[0]['tests']

/** One request: no limit is met. */
function testsOf(
  o: Pick<Tests['request'], 'egress' | 'keyRing' | 'log'> & { readonly config: Config },
): Tests {
  const { config, ...request } = o
  return {
    request: {
      ...{ ...request, clock: createClock(), targets: createTargetCache() },
      ...{ allowHttp: config.allowHttpWebhooks, timeoutMs: config.webhookTimeoutMs },
    },
    limit: createRateLimit({ name: 'tests', usesMax: 1, windowS: 60 }),
    limiter: createConcurrencyLimiter({
      ...{ name: 'tests', atOnceMax: 1, atOncePerCallerMax: 1, waitingPerCallerMax: 0 },
    }),
    isSendingPaused: isPaused(config),
  }
}

async function deliveriesResult(db: Db, options: DeliveriesOptions): Promise<Result> {
  const [tenantId = ''] = await tenantIdsOf(db, options.tenant)
  const { status } = options
  const { deliveries } = await listDeliveries({ db }, tenantId, {
    pageSize: LISTED_MAX,
    ...(status === undefined ? {} : { status }),
  })
  const head = ['MADE', 'DELIVERY', 'WEBHOOK', 'STATUS', 'EVENTS', 'LAST ANSWER']
  return {
    json: { deliveries },
    text: deliveries.length === 0 ? 'No deliveries' : table([head, ...deliveries.map(lineOf)]),
  }
}

function lineOf(delivery: WebhookDelivery): string[] {
  const last = delivery.attempts.at(-1)
  return [
    `${delivery.created_at.slice(0, 19)}Z`,
    delivery.delivery_id,
    delivery.webhook_id,
    delivery.status,
    String(delivery.events.length),
    last === undefined ? '-' : String(last.status ?? printable(last.error ?? '-')),
  ]
}
