/** `postrider webhook`: webhooks, what waits for them, and what their receivers answer. */
import {
  type EventName,
  eventNames,
  type WebhookDelivery,
  type WebhookDeliveryStatus,
  type WebhookStatus,
  webhookDeliveryFilters,
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
  rotateSigningSecret,
  searchWebhooks,
  sendTestEvent,
} from '../webhooks/index.ts'
import { audited } from './audited.ts'
import { json, type OnDatabase, ofTenant, type Result, table } from './output.ts'
import { ownerOf, theTenant } from './read-all.ts'
import { addStreamCommands } from './streams.ts'
import { withEgress } from './try-login.ts'

export interface WebhookCommandDeps {
  readonly config: () => Config
  readonly log: Logger
  readonly onDatabase: OnDatabase
  readonly setExitCode: (code: number) => void
}

interface OfTenant {
  readonly tenant?: string
}
interface DeliveriesOptions extends OfTenant {
  readonly status?: WebhookDeliveryStatus
}

/** One screen. */
const LISTED_MAX = 50

export function addWebhookCommands(program: Command, deps: WebhookCommandDeps): void {
  const { onDatabase } = deps
  const group = program
    .command('webhook')
    .description('webhooks: waiting events, failures, pauses, tests and deliveries')
  const command = (name: string, about: string) =>
    group.command(name).description(about).addOption(ofTenant()).addOption(json())
  addStreamCommands(group, onDatabase)
  command('status', 'show where a webhook stands, and what waits for it')
    .argument('<webhook_id>')
    .action(onDatabase((db, id: string, options: OfTenant) => statusResult(db, id, options)))
  command('test', 'send a made-up event, and show what the receiver answers')
    .argument('<webhook_id>')
    .argument('<event>', `such as ${eventNames[0]}`)
    .action(
      onDatabase((db, id: string, event: string, options: OfTenant) =>
        testResult({ db, ...deps, config: deps.config() }, { id, event }, options),
      ),
    )
  command('secret', 'replace the signing secret; the old one signs beside it for 24 hours')
    .argument('<webhook_id>')
    .action(
      onDatabase((db, id: string, options: OfTenant) =>
        secretResult(db, deps.config(), id, options),
      ),
    )
  command('deliveries', 'list the newest deliveries')
    .addOption(new Option('--status <status>', 'only such').choices(webhookDeliveryFilters))
    .action(onDatabase((db, options: DeliveriesOptions) => deliveriesResult(db, options)))
}

function tenantOf(db: Db, id: string, { tenant }: OfTenant): Promise<string> {
  return ownerOf(db, { what: 'webhook', id, search: searchWebhooks }, tenant)
}

async function statusResult(db: Db, webhookId: string, options: OfTenant): Promise<Result> {
  const tenantId = await tenantOf(db, webhookId, options)
  const status = await getWebhookStatus({ db }, { tenantId, webhookId })
  return { json: { webhook_id: webhookId, status }, text: statusText(status) }
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
  {
    db,
    log,
    config,
    setExitCode,
  }: Pick<WebhookCommandDeps, 'log' | 'setExitCode'> & {
    readonly db: Db
    readonly config: Config
  },
  { id: webhookId, event }: { readonly id: string; readonly event: string },
  options: OfTenant,
): Promise<Result> {
  const tenantId = await tenantOf(db, webhookId, options)
  const keyRing = createKeyRing(requireSecrets(config).secretKeys)
  const order = { event: event as EventName, traceparent: startTrace() }
  const test = await withEgress(config, (egress) => {
    const tests = testsOf({ config, egress, keyRing, log })
    const work = () => sendTestEvent({ db, tests }, { tenantId, webhookId }, order)
    return audited(db, { operation: 'sendTestEvent', tenantId, target: webhookId, work })
  })
  if (!test.accepted) setExitCode(1)
  const lines = [
    ['accepted', test.accepted ? 'yes' : 'no'],
    ['status', String(test.status ?? '-')],
    ['duration', `${test.duration_ms} ms`],
    ['error', printable(test.error ?? '-')],
    ['response', printable(test.response ?? '-')],
  ]
  const note = test.status === null ? `\n\n${OWN_SETTINGS}` : ''
  return { json: { webhook_id: webhookId, test }, text: `${table(lines)}${note}` }
}

async function secretResult(
  db: Db,
  config: Config,
  webhookId: string,
  options: OfTenant,
): Promise<Result> {
  const tenantId = await tenantOf(db, webhookId, options)
  const keyRing = createKeyRing(requireSecrets(config).secretKeys)
  const { signingSecret, formerUntil } = await audited(db, {
    ...{ operation: 'rotateSigningSecret', tenantId, target: webhookId },
    work: () => rotateSigningSecret({ db, keyRing, clock: createClock() }, { tenantId, webhookId }),
  })
  const until = formerUntil.toISOString()
  return {
    json: { webhook_id: webhookId, signing_secret: signingSecret, former_until: until },
    text: `${signingSecret}\n\nShown only now. The secret before it signs, too, until ${until}`,
  }
}

/** The running service may have been given other variables than this command. */
const OWN_SETTINGS =
  'This result is for the POSTRIDER_* variables of this command, such as POSTRIDER_ALLOW_NETWORKS and POSTRIDER_ALLOW_HTTP_WEBHOOKS; a running service may have others.'

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
  const tenantId = await theTenant(db, options.tenant)
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
