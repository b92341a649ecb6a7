/**
 * What one round of the crash test left behind: four logs, each written by the one who knows, none
 * of them by the service. All a checker may look at.
 *
 *   client.ndjson   the harness as the service's client: what it asked, what it was answered
 *   nemesis.ndjson  the harness as its killer: which processes ran, what was armed, who died how
 *   smtp.ndjson     the SMTP server: every command, message and reply
 *   webhook.ndjson  the webhook receiver: every request and its answer
 *   <process>.log   what the service's processes printed, to see that no secret is among it
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readNdjson } from '@postrider/testkit'

export interface History {
  readonly client: readonly ClientFact[]
  readonly nemesis: readonly NemesisFact[]
  readonly smtp: readonly SmtpLogFact[]
  readonly webhook: readonly WebhookLogFact[]
  /** Everything that the service's processes printed, by process. */
  readonly output: Readonly<Record<string, string>>
}

interface At {
  /** Milliseconds since the epoch; all four logs are of one machine. */
  readonly at: number
}

export type ClientFact = At &
  (
    | {
        readonly fact: 'tenant.ready'
        readonly tenant: string
        /** Stands in everything of this tenant and in nothing of any other. */
        readonly canary: string
        readonly path: string
        readonly webhookId: string
        readonly headers: Readonly<Record<string, string>>
        readonly mailerId: string
        /** Values that the service was given in confidence. */
        readonly secrets: readonly string[]
      }
    | {
        readonly fact: 'send.invoked'
        readonly tenant: string
        readonly key: string
        readonly traceparent: string
        readonly request: SendRequest
      }
    | {
        readonly fact: 'send.answered'
        readonly tenant: string
        readonly key: string
        readonly status: number
        readonly answer: unknown
      }
    | {
        /** No answer came: it may or may not have been accepted. */
        readonly fact: 'send.lost'
        readonly tenant: string
        readonly key: string
        readonly error: string
      }
    | {
        /** Every page of the tenant's list of webhook deliveries, newest first. */
        readonly fact: 'deliveries.read'
        readonly tenant: string
        /** `refusing`: the receiver still refuses poison, and all else has come. */
        readonly when: 'refusing' | 'drained'
        readonly deliveries: readonly DeliveryRecord[]
      }
    | { readonly fact: 'drained'; readonly complete: boolean }
  )

/** Of a webhook delivery as the service shows it, what the checker reads. */
export interface DeliveryRecord {
  readonly delivery_id: string
  readonly webhook_id: string
  readonly status: string
  readonly events: readonly {
    readonly event: string
    readonly ref_id: string
    readonly event_at: string
    readonly attempt?: number
  }[]
  readonly attempts: readonly { readonly status: number | null }[]
  readonly divided_into?: readonly string[]
}

export interface SendRequest {
  readonly from: { readonly email: string }
  readonly to: readonly { readonly email: string }[]
  readonly cc?: readonly { readonly email: string }[]
  readonly bcc?: readonly { readonly email: string }[]
  readonly custom_args?: Readonly<Record<string, unknown>>
  readonly settings: { readonly max_attempts: number }
}

export type ProcessName =
  | 'api'
  | 'sender'
  | 'dispatcher'
  | 'dispatcher-2'
  | 'inbound'
  | 'mailbox'
  | 'database'

export type NemesisFact = At &
  (
    | { readonly fact: 'process.started'; readonly process: ProcessName; readonly pid: number }
    | {
        readonly fact: 'failpoint.armed'
        readonly process: ProcessName
        readonly failpoint: string
      }
    | { readonly fact: 'kill.planned'; readonly process: ProcessName }
    | {
        /** It was suspended for longer than its leases, and resumed when another had its work. */
        readonly fact: 'process.frozen' | 'process.thawed'
        readonly process: ProcessName
        readonly pid: number
      }
    | {
        readonly fact: 'process.died'
        readonly process: ProcessName
        readonly pid: number
        readonly signal: string | null
        readonly code: number | null
        /** `failpoint`: by its own hand; `nemesis`: by ours; `stop`: in order. */
        readonly by: 'failpoint' | 'nemesis' | 'stop' | 'itself'
      }
    | { readonly fact: 'healed' }
  )

/** Of the SMTP server's facts, those that the checker reads. */
export type SmtpLogFact = At &
  (
    | {
        readonly fact: 'reply.given'
        readonly connection: number
        readonly phase: string
        readonly reply: string | null
        readonly recipient?: string
        readonly attempt?: number
      }
    | {
        readonly fact: 'message.received'
        readonly connection: number
        readonly transaction: number
        readonly from: string
        readonly recipients: readonly string[]
        readonly messageId: string
        readonly raw: string
        readonly reply: string | null
        readonly accepted: boolean
      }
    | { readonly fact: 'reply.flushed'; readonly transaction: number }
    | {
        readonly fact:
          | 'listening'
          | 'connection.opened'
          | 'connection.secured'
          | 'connection.closed'
          | 'command.received'
      }
  )

export type WebhookLogFact = At &
  (
    | {
        readonly fact: 'request.received'
        readonly request: number
        readonly method: string
        readonly path: string
        readonly headers: readonly (readonly [string, string])[]
        readonly body: string
        readonly answer: { readonly status?: number; readonly ending?: string }
      }
    | { readonly fact: 'answer.flushed'; readonly request: number }
    /** From now on it takes the poison. */
    | { readonly fact: 'healed' }
    | { readonly fact: 'listening' }
  )

export function readHistory(directory: string): History {
  const read = (name: string): unknown[] => readNdjson(join(directory, `${name}.ndjson`))
  return {
    client: read('client') as ClientFact[],
    nemesis: read('nemesis') as NemesisFact[],
    smtp: read('smtp') as SmtpLogFact[],
    webhook: read('webhook') as WebhookLogFact[],
    output: Object.fromEntries(
      readdirSync(directory)
        .filter((name) => name.endsWith('.log'))
        .map((name) => [name, readFileSync(join(directory, name), 'utf8')]),
    ),
  }
}
