/**
 * What the end-to-end tests share: a running service with its embedded database, an SMTP server and
 * a webhook receiver of each test's own, and tenants made over the admin API.
 */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Postrider } from '@postrider/client'
import type { CreateTenantAnswer } from '@postrider/contract'
import {
  copyPreparedData,
  createImapServer,
  createOAuthServer,
  createSendGridServer,
  createSmtpServer,
  createSparkPostServer,
  createWebhookReceiver,
  type ImapServer,
  type ImapServerOptions,
  type OAuthServer,
  type OAuthServerOptions,
  type RunningService,
  type SendGridServer,
  type SendGridServerOptions,
  type SmtpServer,
  type SmtpServerOptions,
  type SparkPostServer,
  type SparkPostServerOptions,
  startService,
  type WebhookReceiver,
  type WebhookReceiverOptions,
  type WebhookRequest,
} from '@postrider/testkit'

const certificatePath = (name: string): string =>
  new URL(`../packages/testkit/certs/${name}`, import.meta.url).pathname

/** For localhost and 127.0.0.1, signed by an authority that the service is told to trust. */
export const certificate = {
  key: readFileSync(certificatePath('localhost.key'), 'utf8'),
  cert: readFileSync(certificatePath('localhost.pem'), 'utf8'),
}

export interface Tenant {
  readonly tenantId: string
  readonly client: Postrider
  readonly apiKey: string
}

export interface World {
  readonly service: () => RunningService
  /** `more`: settings of this process alone, without their prefix. */
  start(more?: Environment): Promise<void>
  /** Another process on the same data, with further settings of its own; it ends with the peers. */
  startBeside(env: Environment, processEnv?: Environment): Promise<RunningService>
  /** SIGTERM unless told otherwise; the data stays. */
  end(signal?: NodeJS.Signals): Promise<void>
  newTenant(name?: string): Promise<Tenant>
  /** Calls with the operator's token. */
  operator(): Postrider
  readonly adminToken: string
  newSmtpServer(o?: SmtpServerOptions): Promise<SmtpServer>
  newImapServer(o?: ImapServerOptions): Promise<ImapServer>
  newOAuthServer(o?: OAuthServerOptions): Promise<OAuthServer>
  newReceiver(o?: WebhookReceiverOptions): Promise<WebhookReceiver>
  newSparkPost(o?: SparkPostServerOptions): Promise<SparkPostServer>
  newSendGrid(o?: SendGridServerOptions): Promise<SendGridServer>
  /** Ends what the test started, not the service itself. */
  closePeers(): Promise<void>
  destroy(): Promise<void>
}

type Environment = Readonly<Record<string, string>>

/** `env` without its prefix, `processEnv` by full names: of every process. */
export function createWorld(env: Environment = {}, processEnv: Environment = {}): World {
  const dataDir = newDataDir({ hasDatabase: env.DATABASE_URL === undefined })
  const adminToken = randomBytes(24).toString('hex')
  const peers: { close(): Promise<void> }[] = []
  let running: RunningService | undefined

  const launch = (more: Environment = {}, moreOfProcess: Environment = {}) =>
    startService({
      env: {
        DATA_DIR: dataDir,
        ADMIN_TOKEN: adminToken,
        ALLOW_NETWORKS: '127.0.0.0/8',
        ALLOW_HTTP_WEBHOOKS: 'true',
        SEND_RETRY_SCHEDULE: '300ms',
        WEBHOOK_RETRY_SCHEDULE: '300ms',
        AUTH_CONFIRM_DELAY: '100ms',
        LEASE_TTL: '2s',
        ...env,
        ...more,
      },
      processEnv: {
        NODE_EXTRA_CA_CERTS: certificatePath('ca.pem'),
        ...processEnv,
        ...moreOfProcess,
      },
      readyTimeoutMs: 60_000,
    })
  const service = (): RunningService => {
    if (running === undefined) throw new Error('the service is not running')
    return running
  }
  const keep = <T extends { close(): Promise<void> }>(peer: T): T => {
    peers.push(peer)
    return peer
  }
  const end = async (signal: NodeJS.Signals = 'SIGTERM'): Promise<void> => {
    await running?.process.kill(signal)
    running = undefined
  }
  const closePeers = async (): Promise<void> => {
    await Promise.all(peers.splice(0).map((peer) => peer.close()))
  }
  return {
    service,
    async start(more) {
      running = await launch(more)
    },
    async startBeside(more, moreOfProcess) {
      const beside = await launch(more, moreOfProcess)
      keep({ close: async () => void (await beside.stop()) })
      return beside
    },
    end,
    adminToken,
    operator: () => new Postrider({ apiKey: adminToken, basePath: service().origin }),
    async newTenant(name = 'e2e') {
      const { origin } = service()
      const response = await fetch(`${origin}/admin/v1/tenants`, {
        method: 'POST',
        headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
        body: JSON.stringify({ name }),
      })
      const { api_key: apiKey, tenant_id: tenantId } = (await response.json()) as CreateTenantAnswer
      return { apiKey, tenantId, client: new Postrider({ apiKey, basePath: origin }) }
    },
    newSmtpServer: async (o) => keep(await createSmtpServer(o)),
    newImapServer: async (o) => keep(await createImapServer(o)),
    newOAuthServer: async (o) => keep(await createOAuthServer(o)),
    newReceiver: async (o) => keep(await createWebhookReceiver(o)),
    newSparkPost: async (o) => keep(await createSparkPostServer(o)),
    newSendGrid: async (o) => keep(await createSendGridServer(o)),
    closePeers,
    async destroy() {
      await closePeers()
      await end()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

/** With a migrated database, where the run has made one (`packages/server/test/prepare-service.ts`). */
function newDataDir({ hasDatabase }: { readonly hasDatabase: boolean }): string {
  const dataDir = mkdtempSync(join(tmpdir(), 'postrider-e2e-'))
  if (hasDatabase) copyPreparedData(dataDir)
  return dataDir
}

export interface WireEvent {
  readonly event: string
  readonly success: boolean
  readonly details: Readonly<Record<string, unknown>>
}

export function eventsOf(requests: readonly WebhookRequest[]): WireEvent[] {
  return requests.flatMap((request) => request.json as WireEvent[])
}

/** Resolves with all events once there are so many. */
export async function waitForEvents(
  receiver: WebhookReceiver,
  count: number,
): Promise<WireEvent[]> {
  await receiver.waitUntil((requests) => eventsOf(requests).length >= count)
  return eventsOf(receiver.requests)
}
