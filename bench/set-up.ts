/** Tenants with a webhook and, where mail is sent, a mailer: made over the API, as anyone makes them. */
import { operations } from '@postrider/contract'
import { request } from 'undici'

export const adminToken = 'bench-admin-token-0123456789abcdef'

export interface Tenant {
  readonly tenantId: string
  readonly webhookId: string
  /** Of its own requests, its API key among them. */
  readonly headers: Readonly<Record<string, string>>
  /** What its mailer sends from. */
  readonly sender: string
}

export interface TenantOrder {
  readonly name: string
  readonly sender: string
  readonly moreSenders?: readonly string[]
  readonly hookUrl: string
  /** Beside deliveries and failures. */
  readonly events?: Readonly<Record<string, true>>
  /** Without it the tenant has no mailer. */
  readonly smtp?: { readonly port: number; readonly connections: number }
}

/** Enough for the API, and too few to be refused for haste. */
const CALLERS = 8
const RETRIES_MAX = 20

export async function setUpTenants(
  origin: string,
  orders: readonly TenantOrder[],
): Promise<Tenant[]> {
  const tenants: Tenant[] = []
  let next = 0
  const work = async (): Promise<void> => {
    for (let i = next++; i < orders.length; i = next++) {
      const order = orders[i]
      if (order !== undefined) tenants[i] = await setUpTenant(origin, order)
    }
  }
  await Promise.all(Array.from({ length: CALLERS }, work))
  return tenants
}

export async function setUpTenant(origin: string, o: TenantOrder): Promise<Tenant> {
  const json = { 'content-type': 'application/json' }
  const admin = { authorization: `Bearer ${adminToken}`, ...json }
  const { tenant_id: tenantId, api_key: apiKey } = await call(origin, 'createTenant', admin, {
    name: o.name,
  })
  const headers = { authorization: `Bearer ${apiKey}`, ...json }
  const { webhook_id: webhookId } = await call(origin, 'registerWebhook', headers, {
    webhook_url: o.hookUrl,
    event: 'EMAIL_EVENT',
    method: 'POST',
    webhook_options: { events: { delivery: true, smtp_error: true, ...o.events } },
  })
  for (const email of o.smtp === undefined ? [] : [o.sender, ...(o.moreSenders ?? [])])
    await call(origin, 'configureSMTP', headers, {
      name: o.name,
      email,
      config_type: 'smtp',
      connection_type: 'basic',
      config: { host: '127.0.0.1', port: o.smtp?.port, secure: 'None' },
      limits: { connections: o.smtp?.connections },
    })
  return { tenantId: String(tenantId), webhookId: String(webhookId), headers, sender: o.sender }
}

/** Asks again when it is asked to wait. */
async function call(
  origin: string,
  operation: 'createTenant' | 'registerWebhook' | 'configureSMTP',
  headers: Record<string, string>,
  body: unknown,
): Promise<Record<string, unknown>> {
  const { method, path } = operations[operation]
  for (let tries = 0; ; tries += 1) {
    const answer = await request(origin + path, { method, headers, body: JSON.stringify(body) })
    const text = await answer.body.text()
    if (answer.statusCode < 300) return JSON.parse(text) as Record<string, unknown>
    if (answer.statusCode !== 429 || tries === RETRIES_MAX)
      throw new Error(`${operation}: ${answer.statusCode} ${text}`)
    const waitMs = Number(answer.headers['retry-after'] ?? 1) * 1000
    await new Promise((resolve) => setTimeout(resolve, waitMs))
  }
}
