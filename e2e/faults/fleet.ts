/**
 * What tests of faults share: a service whose senders are processes of their own, which a test ends
 * or stops at a place of its choosing, on a PostgreSQL server of its own.
 */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Postrider } from '@postrider/client'
import {
  findFreePort,
  type RunningService,
  type SmtpContext,
  type SmtpPhase,
  type SmtpServer,
  type SmtpServerOptions,
  type WebhookReceiver,
} from '@postrider/testkit'
import { createPostgresServer } from '@postrider/testkit/postgres-server'
import { createWorld, eventsOf, type WireEvent } from '../world.ts'

const FROM = 'news@sender.test'
const LAST = 'last@recipient.test'
const CLOCK = new URL('clock-main.ts', import.meta.url)
/** For leases to run out, and for another sender to take over. */
const TOLD_MS = 40_000

export interface Scene {
  readonly client: Postrider
  readonly smtp: SmtpServer
  readonly receiver: WebhookReceiver
  send(
    to: string,
    o?: { readonly content?: string; readonly from?: string | undefined },
  ): Promise<void>
  /** One more, which sends from that address. */
  addMailer(email: string): Promise<void>
  /**
   * Everything that was told, in short, once so much was; a last mail, whose own event is left out,
   * goes through all of it, so that nothing is still on its way.
   */
  told(count: number): Promise<string[]>
}

export interface Fleet {
  start(): Promise<void>
  /** Of the process with every role but the sender's. */
  readonly pid: number
  /** Resolves when it has started. */
  sender(o?: {
    readonly failpoints?: string
    readonly clockAheadMs?: number
  }): Promise<RunningService>
  /** A tenant with a mailer and a webhook for deliveries and failures. */
  scene(
    script?: SmtpServerOptions['script'],
    uncertain?: 'at_least_once' | 'at_most_once',
  ): Promise<Scene>
  endScene(): Promise<void>
  destroy(): Promise<void>
}

/** `env`: further settings of every process, without their prefix. */
export async function createFleet(env: Readonly<Record<string, string>> = {}): Promise<Fleet> {
  const directory = mkdtempSync(join(tmpdir(), 'postrider-faults-'))
  const postgres = createPostgresServer({ directory, port: await findFreePort(), isPrepared: true })
  const world = createWorld(
    {
      ROLES: 'api,dispatcher,janitor',
      DATABASE_URL: postgres.url,
      SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
      SEND_LEASE: '3s',
      ...env,
    },
    { NODE_OPTIONS: `--import=${CLOCK.href}` },
  )
  return {
    get pid() {
      return world.service().process.pid
    },
    async start() {
      await postgres.start()
      await world.start()
    },
    sender: ({ failpoints, clockAheadMs = 0 } = {}) =>
      world.startBeside(
        { ROLES: 'sender', ...(failpoints === undefined ? {} : { FAILPOINTS: failpoints }) },
        { CLOCK_AHEAD_MS: String(clockAheadMs) },
      ),
    async scene(script, uncertain = 'at_least_once') {
      const [{ client }, smtp, receiver] = await Promise.all([
        world.newTenant(),
        world.newSmtpServer(script === undefined ? {} : { script }),
        world.newReceiver(),
      ])
      await client.registerWebhook({
        webhook_url: `${receiver.origin}/`,
        event: 'EMAIL_EVENT',
        method: 'POST',
        webhook_options: { events: { delivery: true, smtp_error: true } },
      })
      const addMailer = async (email: string): Promise<void> => {
        await client.configureSMTP({
          name: 'News',
          email,
          config_type: 'smtp',
          connection_type: 'basic',
          config: { host: '127.0.0.1', port: smtp.port, secure: 'None' },
          uncertain,
        })
      }
      await addMailer(FROM)
      smtp.clear()
      const send: Scene['send'] = async (to, { content, from = FROM } = {}) => {
        await client.sendEmail({
          from: { email: from },
          to: [{ email: to }],
          subject: 'Hello',
          content: [{ type: 'text/plain', value: 'Hi.' }],
          ...(content === undefined ? {} : { attachments: [{ filename: 'a', content }] }),
        })
      }
      const all = () => eventsOf(receiver.requests)
      const isLast = ({ details }: WireEvent) => String(details.email) === LAST
      return {
        client,
        smtp,
        receiver,
        send,
        addMailer,
        async told(count) {
          await receiver.waitUntil(() => all().length >= count, TOLD_MS)
          await send(LAST)
          await receiver.waitUntil(() => all().some(isLast), TOLD_MS)
          return all()
            .filter((event) => !isLast(event))
            .map(inShort)
        },
      }
    },
    endScene: () => world.closePeers(),
    async destroy() {
      await world.destroy()
      await postgres.stop()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

/** `SMTP_ERROR 1 retry`, `SMTP_ERROR 2 final`, `MAIL_DELIVERED`. */
export function inShort({ event, details }: WireEvent): string {
  if (event !== 'SMTP_ERROR') return event
  return `${event} ${details.attempt} ${details.retry_scheduled === true ? 'retry' : 'final'}`
}

/** A script that holds the first reply at `phase` back until it is let go. */
export function holdAt(phase: SmtpPhase) {
  const gate = Promise.withResolvers<void>()
  const reached = Promise.withResolvers<void>()
  let isFirst = true
  const script = (now: SmtpContext) => {
    if (now.phase !== phase || !isFirst) return undefined
    isFirst = false
    reached.resolve()
    return { after: gate.promise }
  }
  return { script, reached: reached.promise, letGo: () => gate.resolve() }
}
