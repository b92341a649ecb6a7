/**
 * Calls of operator commands to the running service, for what changes something: the service checks and wakes
 * what it has to, and the audit log has the call. With the operator's token, for a tenant
 * (docs/reference/operator.md#acting-for-a-tenant).
 */
import { type OperationId, operations } from '@postrider/contract'
import { Option } from 'commander'
import type { Config } from '../config.ts'
import { tenantHeader } from '../platform/http/act-for-tenant.ts'
import { findSecrets } from '../platform/secrets/stored-secrets.ts'
import { memberOf } from '../platform/values/json.ts'

export interface ServiceCall {
  readonly tenantId: string
  readonly params?: Readonly<Record<string, string>>
  readonly body?: object
  /** Of the service; without it, as this command is configured. */
  readonly url?: string | undefined
}

/** Each does a bounded amount of work. */
const TIMEOUT_MS = 120_000
const EVERY_ADDRESS: ReadonlySet<string> = new Set(['0.0.0.0', '::'])

export function serviceUrl(): Option {
  return new Option('--url <url>', 'of the service, where this command is not configured as it is')
}

/** Answers what the service did, and throws what it refused with. */
export async function callService(
  config: Config,
  id: OperationId,
  o: ServiceCall,
): Promise<Readonly<Record<string, unknown>>> {
  const { method, path } = operations[id]
  const base = (o.url ?? addressOf(config)).replace(/\/+$/, '')
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(o.params?.[name] ?? ''),
  )
  const headers = { authorization: `Bearer ${tokenOf(config)}`, [tenantHeader]: o.tenantId }
  const request = fetch(`${base}${filled}`, {
    method,
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MS),
    headers: o.body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
    ...(o.body === undefined ? {} : { body: JSON.stringify(o.body) }),
  })
  const response = await request.catch((cause: unknown) => {
    throw new Error(`No service answers at ${base}: start it, or name it with --url`, { cause })
  })
  const answer: unknown = await response.json().catch(() => undefined)
  if (response.ok && typeof answer === 'object' && answer !== null) return { ...answer }
  throw new Error(refusalIn(answer) ?? `${base} answered ${response.status}, and not as a service`)
}

function refusalIn(answer: unknown): string | undefined {
  const message = memberOf(answer, 'message')
  if (typeof message !== 'string') return undefined
  const errors = memberOf(answer, 'errors')
  const fields = Array.isArray(errors)
    ? errors.map((one) => `${memberOf(one, 'path')} ${memberOf(one, 'message')}`)
    : []
  return [message, ...fields].join('\n')
}

function addressOf({ host, port }: Config): string {
  if (port === 0) throw new Error('The port of the service is not configured: give --url')
  const name = EVERY_ADDRESS.has(host) ? '127.0.0.1' : host
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`
}

function tokenOf(config: Config): string {
  const token = config.adminToken ?? findSecrets(config)?.adminToken
  if (token !== undefined) return token
  throw new Error("There is no operator's token: set POSTRIDER_ADMIN_TOKEN as the service has it")
}
