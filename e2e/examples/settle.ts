/**
 * Makes what a service answered fit to be an example: what differs from run to run, such as ids, times
 * and ports, becomes what stays the same, and addresses of this machine become those of a real service.
 */

export interface Settling {
  /** Texts and what stands for each, such as an origin of this machine. */
  readonly texts: ReadonlyMap<string, string>
  /** By the port on this machine. */
  readonly servers: ReadonlyMap<number, { readonly host: string; readonly port: number }>
}

/** Keeps what it has met: an id is the same wherever it is met. */
export function createSettle({ texts, servers }: Settling): <T>(value: T) => T {
  const met = new Map<string, string>()
  /** The same for the same text, in the order in which they are met. */
  const numbered = (text: string, begin: string) => {
    const known = met.get(text)
    if (known !== undefined) return known
    const made = begin + DIGITS[Math.floor(met.size / 32)] + DIGITS[met.size % 32]
    met.set(text, made)
    return made
  }
  // An origin holds an address.
  const byLength = [...texts].sort(([a], [b]) => b.length - a.length)
  const settleText = (text: string) => {
    let settled = text
    for (const [from, to] of byLength) settled = settled.replaceAll(from, to)
    for (const [pattern, made] of PATTERNS) settled = settled.replaceAll(pattern, made)
    return settled
      .replaceAll(SELECTOR, (name) => numbered(name, 'pr-k7m2q9').toLowerCase())
      .replaceAll(ULID, (id) => numbered(id, '01JD4M8W6ZQ3V5T7X9Y2A4C6'))
  }
  const settle = (value: unknown, name = ''): unknown => {
    if (name === 'timings' && value !== null) return TIMINGS
    if (name === 'mailbox') return MAILBOX
    if (Object.hasOwn(OF_MACHINE, name)) return OF_MACHINE[name]
    if (name === 'state') return STATES[String(value)] ?? value
    // One of a day's: which of them begins at midnight differs.
    if (name === 'intervals' && Array.isArray(value) && value.length > 100) return [INTERVAL]
    // To the hour: between midnight and one it is no day.
    if (name === 'last_used_at' && value !== null) return '2026-11-20T13:01:02.123Z'
    if (typeof value === 'string') return settleText(value)
    if (typeof value === 'number') return NUMBERS[name] ?? value
    if (Array.isArray(value)) return value.map((item) => settle(item))
    if (typeof value !== 'object' || value === null) return value
    const server = 'port' in value ? servers.get(Number(value.port)) : undefined
    return Object.fromEntries(
      Object.entries({ ...value, ...server }).map(([key, inner]) => [
        settleText(key),
        settle(inner, key),
      ]),
    )
  }
  return <T>(value: T) => settle(value) as T
}

const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const ULID = /(?<![0-9A-Za-z])[0-7][0-9A-HJKMNP-TV-Z]{25}(?![0-9A-Za-z])/g
const SELECTOR = /\bpr-[0-9a-z]{8}\b/g
const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/\bpr_[0-9A-Za-z]{20,}/g, 'pr_4fTq0ExampleExampleExampleExampleExample'],
  [/\bwhsec_[0-9A-Za-z+/]{43}=/g, 'whsec_RXhhbXBsZUV4YW1wbGVFeGFtcGxlRXhhbXBsZUU='],
  [/^\d{4}-\d\d-\d\d$/g, '2026-11-20'],
  [/\b\d{4}-\d\d-\d\dT00:00:00\.000Z/g, '2026-11-20T00:00:00.000Z'],
  [/\b(?!2026-11-20T00)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z/g, '2026-11-20T13:01:02.123456Z'],
  [/\b(?!2026-11-20T00)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, '2026-11-20T13:01:02.123Z'],
  [/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, '2026-11-20T13:00:00Z'],
  [
    /[A-Z][a-z]{2}, \d+ [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}/g,
    'Fri, 20 Nov 2026 13:01:02 +0000',
  ],
  [
    /\b00-[0-9a-f]{32}-[0-9a-f]{16}-01\b/g,
    '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  ],
  [/=_pr-[0-9a-f]{24}\b/g, '=_pr-7cbbdc14f77599f3a44b4c24'],
  [/(?<=[\d.]+ port )\d+$/g, '587'],
  [/(?<=ESMTP id )[\w.]+/g, 'k7m2q9xd1c5w8r3t.1'],
  [/(?<=\/callbacks\/\w+\/)[\w-]+/g, 'x3Jq9ExampleExampleExample'],
  [/(?<=\/t\/[ocu]\/)[\w-]+/g, 'b2xExampleExampleExample'],
  [/(?<=[?&](?:state|code_challenge|nonce)=)[\w-]+/g, 'b2xExampleExampleExample'],
  [/(?<=\/app\/\w+#)\w+|^[0-9A-Za-z]{43}$/g, 'b2xExampleExampleExample'],
  [/(?<=\bp=)[A-Za-z0-9+/=]{40,}/g, 'MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA'],
  [/(?<=postrider-verification=)[\w-]+/g, 'b2xExampleExampleExample'],
]

const NUMBERS: Readonly<Record<string, number>> = { duration_ms: 61, bytes: 713 }
/** A webhook with nothing to send is active until a dispatcher has looked at it. */
const STATES: Readonly<Record<string, string>> = { idle: 'active' }
/** A mailbox is watched soon after it was configured, at once or not. */
const MAILBOX = {
  state: 'watched',
  failing_since: null,
  last_read_at: '2026-11-20T13:01:02.123Z',
  last_error: null,
}
const INTERVAL = { at: '2026-11-20T13:00:00.000Z', sent: 0, deferred: 0, failed: 0 }
/** What the operator sees differs from machine to machine. */
const OF_MACHINE: Readonly<Record<string, unknown>> = {
  checks: [
    { check: 'node', state: 'ok', detail: '24.11.0', fix: null },
    {
      check: 'disk',
      state: 'warning',
      detail: '1900 MiB free, intake stops below 512 MiB',
      fix: 'Free some disk space, or shorten POSTRIDER_RETENTION.',
    },
  ],
  queues: [
    {
      kind: 'mailer',
      mailer_id: 'smtp_01JD4M8W6ZQ3V5T7X9Y2A4C6E8',
      tenant_id: 'tn_01JD4M8W6ZQ3V5T7X9Y2A4C6E9',
      state: 'active',
      late: true,
      due: 12,
      waiting: 3,
      held: 0,
      oldest_at: '2026-11-20T13:01:02.123Z',
    },
  ],
  processes: [
    {
      process_id: '4711-0af7651916cd',
      host: 'mail-1.example.com',
      roles: ['api', 'sender'],
      version: '1.0.0',
      commit: '7c724a7c0af7651916cd43dd8448eb211c80319c',
      node: 'v24.11.0',
      started_at: '2026-11-20T13:01:02.123Z',
      seen_at: '2026-11-20T13:01:02.123Z',
    },
  ],
  database: { version: '18.1', bytes: 52428800, is_embedded: true },
  tables: [{ name: 'webhooks_event', bytes: 8388608, rows: 12000 }],
  configuration: [
    {
      ...{ name: 'POSTRIDER_SECRET_KEYS', value: null },
      ...{ is_set: true, is_generated: true, is_shown: false },
    },
    {
      ...{ name: 'POSTRIDER_RETENTION', value: '30d' },
      ...{ is_set: true, is_generated: false, is_shown: true },
    },
  ],
}
const TIMINGS = { dns_ms: 3, connect_ms: 11, tls_ms: 19, first_byte_ms: 60, total_ms: 61 }
