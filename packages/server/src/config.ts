/**
 * The configuration (docs/reference/running.md#configuration): one entry for each variable, read once at
 * start.
 *
 * Every value is checked, every unknown `POSTRIDER_*` name refused, all problems reported at once
 * and by name; the value of a secret is never part of a message or of the summary. Defaults are
 * written as a user would write them and go through the same checks. docs/config.md is generated
 * from this table.
 */

import { isLoopbackName } from './platform/config/loopback-name.ts'
import { nearestName } from './platform/config/nearest-name.ts'
import {
  byteSize,
  checkedBy,
  credential,
  credentialLengthAdvised,
  directory,
  diskShare,
  duration,
  flag,
  host,
  hostName,
  httpUrl,
  integer,
  listOf,
  mmdbFile,
  nameServers,
  networks,
  oneOf,
  pemFile,
  plainHttpUrl,
  postgresUrl,
  schedule,
  type ValueType,
} from './platform/config/value-type.ts'
import { createFailpoints } from './platform/failpoints.ts'
import { createKeyRing } from './platform/secrets/index.ts'
import { readTracingSettings, type TracingSettings } from './platform/tracing/settings.ts'
import { isSoundApiKey } from './tenants/index.ts'

export const configPrefix = 'POSTRIDER_'
const INBOUND_PORT = 2_525

export const roles = [
  'api',
  'tracker',
  'sender',
  'dispatcher',
  'inbound',
  'mailbox',
  'janitor',
  'submission',
] as const
export type Role = (typeof roles)[number]

export interface Variable<T> {
  readonly name: string
  readonly type: ValueType<T>
  /** Written as in the environment. */
  readonly default?: string
  /** Where the default is not a fixed text. */
  readonly defaultText?: string
  readonly isSecret?: boolean
  readonly meaning: string
}

export const variables = {
  databaseUrl: {
    name: 'DATABASE_URL',
    type: postgresUrl,
    defaultText: 'unset: the embedded PostgreSQL',
    isSecret: true,
    meaning:
      'PostgreSQL 15 or later. It may name several hosts (`postgres://user@a:5432,b:5432/db?target_session_attrs=read-write`): Postrider tries them in turn and uses the primary. `target_session_attrs` is `read-write`, `primary` or `any`; a standby is never used',
  },
  dataDir: {
    name: 'DATA_DIR',
    type: directory,
    default: './.postrider',
    meaning: 'Embedded database and generated secrets',
  },
  host: {
    name: 'HOST',
    type: host,
    default: '127.0.0.1',
    meaning: 'Address on which the API, tracking, callbacks and the SMTP listener listen',
  },
  port: {
    name: 'PORT',
    type: integer(0, 65_535),
    default: '8080',
    meaning:
      'Its port; 0 picks a free port. Set `PUBLIC_URL` too, or tracked links point to port 0',
  },
  publicUrl: {
    name: 'PUBLIC_URL',
    type: plainHttpUrl,
    defaultText: '`http://HOST:PORT`',
    meaning:
      'The URL under which browsers of recipients and providers reach this service. Tracked links lead to `/t/` below it, and OAuth providers send browsers back to `/oauth/callback` below it',
  },
  dashboard: {
    name: 'DASHBOARD',
    type: oneOf('on', 'off'),
    default: 'on',
    meaning:
      'Whether the role `api` serves the dashboard at `/app/`. With `off` there is no such address, and `npm start` does not build it',
  },
  httpConnectionsMax: {
    name: 'HTTP_CONNECTIONS_MAX',
    type: integer(16, 1_000_000),
    defaultText: 'half of the file descriptors that the process may open, at most 8000',
    meaning:
      'HTTP connections at once. One client address (IPv6: one /64) gets a quarter of them at most; `TRUSTED_PROXIES` have no such limit',
  },
  inboundHost: {
    name: 'INBOUND_HOST',
    type: host,
    defaultText: 'the host of `PUBLIC_URL`',
    meaning:
      'The target of the MX records of inbound domains: the name of the host where the role `inbound` is reached on port 25',
  },
  heloName: {
    name: 'HELO_NAME',
    type: hostName,
    defaultText: "this host's fully qualified name, else `INBOUND_HOST` where that is a name",
    meaning:
      'The name in EHLO and in the banner of the SMTP listener. Use a fully qualified name whose address has a reverse record (`PTR`) with this name; many servers refuse others',
  },
  roles: {
    name: 'ROLES',
    type: listOf('all', ...roles),
    default: 'all',
    meaning: 'What this process does',
  },
  secretKeys: {
    name: 'SECRET_KEYS',
    type: checkedBy(
      'id:base64-of-32-random-bytes, more of them after commas, each id once',
      createKeyRing,
    ),
    defaultText: 'generated in `DATA_DIR` when the database is embedded, else required',
    isSecret: true,
    meaning:
      'Keys for encrypted values: the first encrypts, all decrypt. `postrider secrets rotate` encrypts all values with the first key',
  },
  adminToken: {
    name: 'ADMIN_TOKEN',
    type: credential,
    defaultText: 'generated likewise, else required with the role `api`',
    isSecret: true,
    meaning: 'Bearer token of `/admin/v1`',
  },
  apiKey: {
    name: 'API_KEY',
    type: {
      expected: `${credential.expected}; one of the shape of a generated key needs its right checksum`,
      parse: (text) => (isSoundApiKey(text) ? credential.parse(text) : undefined),
    },
    defaultText: 'unset',
    isSecret: true,
    meaning: 'When no tenant exists yet: creates the tenant `default` with this key',
  },
  oidcIssuer: {
    name: 'OIDC_ISSUER',
    type: {
      ...checkedBy('an https URL, or an http URL on loopback, without query', checkIssuer),
      show: String,
    },
    defaultText: 'unset: people log in by a password',
    meaning:
      'The OIDC provider by which people log in to the dashboard: its issuer, letter by letter. Register `/ui/oidc/callback` below `PUBLIC_URL` there, as a redirect URI. A provider with a private address also needs `ALLOW_NETWORKS`',
  },
  oidcClientId: {
    name: 'OIDC_CLIENT_ID',
    type: { ...checkedBy('a text', (text) => text), show: String },
    defaultText: 'required with `OIDC_ISSUER`',
    meaning: 'The client id of this service at the OIDC provider',
  },
  oidcClientSecret: {
    name: 'OIDC_CLIENT_SECRET',
    type: checkedBy('a text', (text) => text),
    defaultText: 'unset: a public client',
    isSecret: true,
    meaning: 'The secret of the client, which is sent by `client_secret_post`',
  },
  oidcRoleClaim: {
    name: 'OIDC_ROLE_CLAIM',
    type: { ...checkedBy('a text', (text) => text), show: String },
    default: 'roles',
    meaning:
      'The claim of the ID token with the roles of a person: `role` or `role:tn_…`, or a list',
  },
  oidcOnly: {
    name: 'OIDC_ONLY',
    type: flag,
    default: 'false',
    meaning: 'Nobody logs in by a password, or sets one',
  },
  allowNetworks: {
    name: 'ALLOW_NETWORKS',
    type: networks,
    defaultText: 'none',
    meaning: 'Private networks that webhooks and mailers may reach (development: `127.0.0.0/8`)',
  },
  allowHttpWebhooks: {
    name: 'ALLOW_HTTP_WEBHOOKS',
    type: flag,
    default: 'false',
    meaning: 'Accept `http:` webhook URLs, and make requests to them',
  },
  webhookTlsCa: {
    name: 'WEBHOOK_TLS_CA',
    type: pemFile,
    defaultText: 'unset',
    meaning: 'Further CA certificates trusted for webhook receivers',
  },
  sending: {
    name: 'SENDING',
    type: oneOf('on', 'paused'),
    default: 'on',
    meaning:
      '`paused` accepts mail and sends nothing: no mail, no webhook requests, no requests to relay providers by itself. It reads no mailboxes. Use it for a restored copy, and set it for every process',
  },
  sendMaxAttempts: {
    name: 'SEND_MAX_ATTEMPTS',
    type: integer(1, 20),
    default: '5',
    meaning: 'Attempts of an email that sets no `max_attempts`',
  },
  sendRetrySchedule: {
    name: 'SEND_RETRY_SCHEDULE',
    type: schedule(),
    default: '30s,2m,10m,30m,1h,2h,4h',
    meaning:
      "Wait after attempt 1, 2, …; the last repeats; jitter of 20 %. The wait is longer if the server's words name a longer one, and 5 minutes at least after greylisting without a time. It is never longer than the longest of the schedule",
  },
  sendLeaseMs: {
    name: 'SEND_LEASE',
    type: duration('1s', '1h'),
    default: '60s',
    meaning: 'For how long a sender holds a claimed recipient without renewing',
  },
  sendTimeoutMs: {
    name: 'SEND_TIMEOUT',
    type: duration('1s', '1h'),
    default: '5m',
    meaning: 'The longest that one attempt may take, from connecting to the last reply',
  },
  senderConcurrency: {
    name: 'SENDER_CONCURRENCY',
    type: integer(1, 10_000),
    default: '64',
    meaning: 'Attempts under way at once in one process',
  },
  webhookBatchEvents: {
    name: 'WEBHOOK_BATCH_EVENTS',
    type: integer(1, 10_000),
    default: '500',
    meaning: 'Events in one webhook request at most',
  },
  webhookBatchBytes: {
    name: 'WEBHOOK_BATCH_BYTES',
    type: byteSize('1KiB', '64MiB'),
    default: '1048576',
    meaning: 'Size of one webhook request at most',
  },
  webhookBatchLingerMs: {
    name: 'WEBHOOK_BATCH_LINGER',
    type: duration('0ms', '1m'),
    default: '100ms',
    meaning:
      'Least time between two requests to one webhook while events keep coming; the first event after a pause goes at once',
  },
  webhookTimeoutMs: {
    name: 'WEBHOOK_TIMEOUT',
    type: duration('100ms', '10m'),
    default: '15s',
    meaning: 'The longest that one webhook request may take as a whole',
  },
  webhookRetrySchedule: {
    name: 'WEBHOOK_RETRY_SCHEDULE',
    type: schedule(),
    default: '5s,30s,2m,10m,30m,1h,2h,4h,6h',
    meaning: 'Wait after failure 1, 2, … of a webhook request; the last repeats; jitter of 20 %',
  },
  webhookRetryForMs: {
    name: 'WEBHOOK_RETRY_FOR',
    type: duration('1s', '30d'),
    default: '3d',
    meaning: 'For how long a webhook request is retried',
  },
  dispatcherConcurrency: {
    name: 'DISPATCHER_CONCURRENCY',
    type: integer(1, 10_000),
    default: '512',
    meaning:
      'Webhook requests under way at once in one process, those to slow receivers included; one tenant has at most half of them',
  },
  authConfirmDelayMs: {
    name: 'AUTH_CONFIRM_DELAY',
    type: duration('0ms', '1m'),
    default: '5s',
    meaning:
      'Wait before a rejected login is tried once more, within the same attempt, on a new connection (by OAuth: with a new token). A second rejection deactivates the mailer. At most half of `SEND_TIMEOUT`',
  },
  inboundPort: {
    name: 'INBOUND_PORT',
    type: integer(0, 65_535),
    defaultText: '`2525`',
    meaning:
      'Port of the SMTP listener on `HOST`; 0 takes a free one. If a port that you set is taken, the start fails. If the default port is taken, the service runs without it and tries again every 30 s',
  },
  inboundTlsCert: {
    name: 'INBOUND_TLS_CERT',
    type: pemFile,
    defaultText: 'unset: a self-signed certificate, kept in `DATA_DIR`',
    meaning:
      'Certificate of the SMTP listener, with its intermediate certificates; read again when it changes',
  },
  inboundTlsKey: {
    name: 'INBOUND_TLS_KEY',
    type: pemFile,
    defaultText: 'unset',
    meaning: 'The private key of that certificate; set both',
  },
  inboundBytesMax: {
    name: 'INBOUND_MAX_BYTES',
    type: byteSize('1KiB', '256MiB'),
    default: '25MiB',
    meaning: 'Size of one received message at most',
  },
  inboundRecipientsMax: {
    name: 'INBOUND_MAX_RECIPIENTS',
    type: integer(1, 10_000),
    default: '100',
    meaning: 'Recipients of one received message at most',
  },
  inboundInlineBytes: {
    name: 'INBOUND_INLINE_BYTES',
    type: byteSize('0', '64MiB'),
    default: '5MiB',
    meaning: 'How many bytes of attachments an `INCOMING_EMAIL` contains; the others have a `url`',
  },
  submissionPort: {
    name: 'SUBMISSION_PORT',
    type: integer(0, 65_535),
    defaultText: 'unset: off',
    meaning:
      'Port on `HOST` where programs hand in mail over SMTP, with STARTTLS; 0 takes a free one. The certificate is that of `INBOUND_TLS_CERT`',
  },
  submissionTlsPort: {
    name: 'SUBMISSION_TLS_PORT',
    type: integer(0, 65_535),
    defaultText: 'unset: off',
    meaning: 'The same with TLS from the first byte on',
  },
  submissionPublicPort: {
    name: 'SUBMISSION_PUBLIC_PORT',
    type: integer(1, 65_535),
    defaultText: '`SUBMISSION_PORT`',
    meaning:
      'The port with STARTTLS that the dashboard tells programs, where another one is published: by a container or a load balancer',
  },
  submissionPublicTlsPort: {
    name: 'SUBMISSION_PUBLIC_TLS_PORT',
    type: integer(1, 65_535),
    defaultText: '`SUBMISSION_TLS_PORT`',
    meaning: 'The same of the port with TLS from the first byte on',
  },
  imapErrorRepeatMs: {
    name: 'IMAP_ERROR_REPEAT',
    type: duration('1s', '30d'),
    default: '1h',
    meaning: 'How often `IMAP_ERROR` is repeated while a mailbox cannot be read',
  },
  dnsServers: {
    name: 'DNS_SERVERS',
    type: nameServers,
    defaultText: "the system's",
    meaning:
      'Name servers that look up the hosts of webhooks and mailers, and the records of sending domains',
  },
  rspamdUrl: {
    name: 'RSPAMD_URL',
    type: httpUrl,
    defaultText: 'unset',
    meaning:
      'An Rspamd for a second opinion in phishing protection, such as `http://127.0.0.1:11333`',
  },
  trackerDurability: {
    name: 'TRACKER_DURABILITY',
    type: oneOf('disk', 'database'),
    defaultText: '`disk` when the database is embedded, else `database`',
    meaning:
      'Where an open or a click is stored before it is answered. `disk`: in a flushed file in `DATA_DIR`, and in the database a moment later. `database`: in the database. `disk` answers more requests and needs a disk that outlives the process',
  },
  geoipDb: {
    name: 'GEOIP_DB',
    type: mmdbFile,
    defaultText: 'unset: the packaged dataset where installed',
    meaning:
      'City-level mmdb file for the places of opens and clicks, in MaxMind’s layout or a flat one; read at start',
  },
  trustedProxies: {
    name: 'TRUSTED_PROXIES',
    type: networks,
    defaultText: 'none',
    meaning:
      'Networks of the proxies in front of this service. Postrider trusts their `X-Forwarded-For`',
  },
  retentionMs: {
    name: 'RETENTION',
    type: duration('1d', '3650d'),
    default: '30d',
    meaning:
      'How long emails, events, webhook deliveries and their attempts are kept, in whole days; at least `WEBHOOK_RETRY_FOR`. A day with unfinished mail stays until that mail has ended. The addresses of unsubscribe links are kept for 400 days at least',
  },
  contentRetentionMs: {
    name: 'CONTENT_RETENTION',
    type: duration('1d', '3650d'),
    defaultText: '`RETENTION`',
    meaning:
      'How long the content of emails and the raw bytes of received mail are kept, in whole days; at most `RETENTION`. What logs, traces, events and statistics show stays for `RETENTION`. The content of unfinished mail stays until that mail has ended',
  },
  auditRetentionMs: {
    name: 'AUDIT_RETENTION',
    type: duration('1d', '3650d'),
    default: '365d',
    meaning: 'How long entries of the audit log are kept',
  },
  alertAfterMs: {
    name: 'ALERT_AFTER',
    type: duration('1s', '1d'),
    default: '60s',
    meaning:
      'How long a mailer or webhook has to fail, a queue to be late, or the disk to be full, before an alert tells it; and to be well again before it is over',
  },
  diskFreeMin: {
    name: 'DISK_FREE_MIN',
    type: diskShare,
    default: '512MiB',
    meaning:
      'With the embedded database: if less than this is free in `DATA_DIR`, new email is refused with 503',
  },
  databasePool: {
    name: 'DATABASE_POOL',
    type: integer(2, 500),
    default: '10',
    meaning: 'Database connections of one process',
  },
  leaseTtlMs: {
    name: 'LEASE_TTL',
    type: duration('100ms', '5m'),
    default: '10s',
    meaning: 'How soon other processes take over the work of a process that died',
  },
  logLevel: {
    name: 'LOG_LEVEL',
    type: oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'),
    default: 'info',
    meaning: 'Least severe level that is logged',
  },
  logFormat: {
    name: 'LOG_FORMAT',
    type: oneOf('auto', 'json', 'text'),
    default: 'auto',
    meaning: '`json`: one object a line; `text`: lines for people; `auto`: `text` on a terminal',
  },
  failpoints: {
    name: 'FAILPOINTS',
    type: checkedBy('<name>=kill[@<passage>], more of them after commas', createFailpoints),
    defaultText: 'unset',
    meaning: 'Tests only: where the process ends itself',
  },
} as const satisfies Record<string, Variable<unknown>>

type Key = keyof typeof variables
type ValueOf<K extends Key> = (typeof variables)[K]['type'] extends ValueType<infer T> ? T : never
type Values = {
  readonly [K in Key]: (typeof variables)[K] extends { readonly default: string }
    ? ValueOf<K>
    : ValueOf<K> | undefined
}

export interface Config
  extends Omit<
    Values,
    | 'roles'
    | 'publicUrl'
    | 'inboundHost'
    | 'inboundPort'
    | 'allowNetworks'
    | 'trackerDurability'
    | 'contentRetentionMs'
  > {
  readonly roles: ReadonlySet<Role>
  readonly publicUrl: string
  /** In lower case. */
  readonly inboundHost: string
  readonly inboundPort: number
  /** The default port may be taken by another program; one that was set may not. */
  readonly isInboundPortSet: boolean
  readonly trackerDurability: 'disk' | 'database'
  readonly contentRetentionMs: number
  readonly allowNetworks: readonly string[]
  /** By the variables of OpenTelemetry, which have no prefix of ours. */
  readonly tracing: TracingSettings
}

/** Every problem, one a line, by the variable's name. */
export class ConfigError extends Error {
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(`The configuration is not usable:\n${problems.map((p) => `  ${p}`).join('\n')}`)
    this.name = 'ConfigError'
    this.problems = problems
  }
}

export type Environment = Readonly<Record<string, string | undefined>>

export interface LoadOptions {
  /** Operator commands work on the database alone and need no key to start. */
  readonly isForServing?: boolean
}

export function loadConfig(env: Environment, o: LoadOptions = {}): Config {
  const problems: string[] = []
  const values: Record<string, unknown> = {}
  for (const [key, variable] of Object.entries<Variable<unknown>>(variables))
    values[key] = readVariable(variable, env, problems)
  problems.push(...findUnknownNames(env))
  const config = complete(values as unknown as Values, readTracingSettings(env))
  problems.push(...findContradictions(config, env))
  if (o.isForServing !== false) problems.push(...findMissing(config, env))
  if (problems.length > 0) throw new ConfigError(problems)
  return config
}

/** The only place that reads the process's environment. */
export function readEnv(): Environment {
  return process.env
}

/** With the port that was really taken, when the configured one was 0. */
export function publicUrlOf(host: string, port: number): string {
  const reachable = host === '0.0.0.0' || host === '::' ? 'localhost' : host
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`
}

/** For the log at start: the value of each variable, and of secrets only whether they are set. */
export function summarizeConfig(config: Config): Record<string, unknown> {
  const summary: Record<string, unknown> = {}
  for (const [key, variable] of Object.entries<Variable<unknown>>(variables)) {
    const value: unknown = Reflect.get(config, key)
    if (variable.isSecret === true) summary[variable.name] = { configured: value !== undefined }
    else if (value !== undefined) summary[variable.name] = value instanceof Set ? [...value] : value
  }
  return summary
}

/** Credentials that are shorter than advised, by name. */
export function weakCredentials(config: Config): string[] {
  return [variables.adminToken, variables.apiKey]
    .filter(({ name }) => {
      const value = name === variables.apiKey.name ? config.apiKey : config.adminToken
      return value !== undefined && value.length < credentialLengthAdvised
    })
    .map(({ name }) => configPrefix + name)
}

/**
 * Whether mail programs will not unsubscribe by the links of this service: RFC 8058 §3.1 wants
 * `https`. On this machine alone it does not matter.
 */
export function isPublicUrlPlain({ publicUrl }: Pick<Config, 'publicUrl'>): boolean {
  if (publicUrl === undefined) return false
  const { protocol, hostname } = new URL(publicUrl)
  return protocol === 'http:' && !isLoopbackName(hostname)
}

/**
 * Whether no other mail server finds the listener by it: an MX names a host, never an address (RFC 5321
 * §5.1). On this machine alone it does not matter.
 */
export function isInboundHostUnnamed({ inboundHost }: Pick<Config, 'inboundHost'>): boolean {
  return !inboundHost.includes('.') || /\.(?:\d+|localhost)$/.test(inboundHost)
}

/** Accepts, and sends nothing. */
export function isPaused({ sending }: Pick<Config, 'sending'>): boolean {
  return sending === 'paused'
}

/** An empty variable counts as unset: `POSTRIDER_X=` in an env file means "not this one". */
function textOf(name: string, env: Environment): string | undefined {
  const text = env[configPrefix + name]?.trim()
  return text === '' ? undefined : text
}

function readVariable(variable: Variable<unknown>, env: Environment, problems: string[]): unknown {
  const text = textOf(variable.name, env) ?? variable.default
  if (text === undefined) return undefined
  const value = variable.type.parse(text)
  if (value === undefined) {
    // A URL may be refused for the very credentials in it.
    const mayHoldSecret = variable.isSecret === true || /[@?]/.test(text)
    const got = mayHoldSecret ? '' : `, got ${JSON.stringify(text.slice(0, 100))}`
    const why = variable.type.why?.(text)
    const because = why === undefined ? '' : `; it ${why}`
    problems.push(
      `${configPrefix}${variable.name}: expected ${variable.type.expected}${got}${because}`,
    )
  }
  return value
}

function findUnknownNames(env: Environment): string[] {
  const known: string[] = Object.values(variables).map(({ name }) => name)
  return Object.keys(env)
    .filter((name) => name.startsWith(configPrefix))
    .map((name) => name.slice(configPrefix.length))
    .filter((name) => !known.includes(name))
    .map((name) => {
      // Without the prefix, which all of them share: it would make every name look near.
      const nearest = nearestName(name, known)
      const hint = nearest === undefined ? '' : `; did you mean ${configPrefix}${nearest}?`
      return `${configPrefix}${name}: no such variable${hint}`
    })
}

/** Bad values are reported as such, and undefined here. */
function findContradictions(config: Partial<Config>, env: Environment): string[] {
  const halves = [
    ...findHalfSet(env, variables.inboundTlsCert.name, variables.inboundTlsKey.name),
    ...findHalfSet(env, variables.oidcIssuer.name, variables.oidcClientId.name),
    ...(config.oidcOnly === true && config.oidcIssuer === undefined
      ? [
          `${configPrefix}${variables.oidcOnly.name}: needs ${configPrefix}${variables.oidcIssuer.name}`,
        ]
      : []),
    ...findLongContent(config, env),
  ]
  const { retentionMs, webhookRetryForMs } = config
  if (retentionMs === undefined || webhookRetryForMs === undefined) return halves
  if (retentionMs >= webhookRetryForMs) return halves
  const { retentionMs: retention, webhookRetryForMs: retryFor } = variables
  const [given, least] = [retention, retryFor].map((v) => textOf(v.name, env) ?? v.default)
  return [
    ...halves,
    `${configPrefix}${retention.name}: expected at least ${configPrefix}${retryFor.name} (${least}), for which events are still delivered, got "${given}"`,
  ]
}

/** Content cannot outlive the record that leads to it. */
function findLongContent(config: Partial<Config>, env: Environment): string[] {
  const { retentionMs = Number.POSITIVE_INFINITY, contentRetentionMs = 0 } = config
  if (contentRetentionMs <= retentionMs) return []
  const { retentionMs: retention, contentRetentionMs: content } = variables
  const most = textOf(retention.name, env) ?? retention.default
  return [
    `${configPrefix}${content.name}: expected at most ${configPrefix}${retention.name} (${most}), got "${textOf(content.name, env)}"; raise ${configPrefix}${retention.name}, or lower it`,
  ]
}

/** As the provider writes it, with or without a slash at the end. */
function checkIssuer(text: string): void {
  const url = new URL(text)
  const isPlain = url.protocol === 'http:' && isLoopbackName(url.hostname)
  if (url.protocol !== 'https:' && !isPlain) throw new Error('neither https nor on loopback')
  if (url.username !== '' || url.password !== '' || /[?#]/.test(text)) throw new Error('too much')
}

/** Of two that are of no use alone. */
function findHalfSet(env: Environment, ...names: readonly [string, string]): string[] {
  const missing = names.filter((name) => textOf(name, env) === undefined)
  const [name] = missing
  if (name === undefined || missing.length === 2) return []
  const other = names.find((one) => one !== name)
  return [`${configPrefix}${name}: required with ${configPrefix}${other}`]
}

function findMissing(config: Config, env: Environment): string[] {
  if (textOf('DATABASE_URL', env) === undefined) return []
  const missing: string[] = []
  const demand = (name: string, why: string) => {
    if (textOf(name, env) === undefined)
      missing.push(
        `${configPrefix}${name}: required ${why} when ${configPrefix}DATABASE_URL is set`,
      )
  }
  demand('SECRET_KEYS', 'by every process')
  if (config.roles.has('api')) demand('ADMIN_TOKEN', 'by the role api')
  return missing
}

/** Empty for a URL that a bad value has spoiled. */
function hostOf(url: string): string {
  return URL.parse(url)?.hostname.replace(/^\[(.*)\]$/, '$1') ?? ''
}

/** Bad values are undefined here; the caller reports them instead of using the result. */
function complete(values: Values, tracing: TracingSettings): Config {
  const { port = 0, host = '' } = values as Partial<Values>
  const named: readonly ('all' | Role)[] = values.roles ?? []
  const publicUrl = values.publicUrl ?? publicUrlOf(host, port)
  return {
    ...values,
    tracing,
    roles: new Set(named.includes('all') ? roles : named.filter((role) => role !== 'all')),
    publicUrl,
    inboundHost: (values.inboundHost ?? hostOf(publicUrl)).toLowerCase(),
    inboundPort: values.inboundPort ?? INBOUND_PORT,
    isInboundPortSet: values.inboundPort !== undefined,
    allowNetworks: values.allowNetworks ?? [],
    contentRetentionMs: values.contentRetentionMs ?? values.retentionMs,
    // The embedded database is on that very disk.
    trackerDurability:
      values.trackerDurability ?? (values.databaseUrl === undefined ? 'disk' : 'database'),
  }
}
