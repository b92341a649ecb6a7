/** Makes the tenants of a round over the API, before anything is killed. */
import type { NdjsonLog } from '@postrider/testkit'
import { senderOf } from './mails.ts'

export interface Tenant {
  readonly apiKey: string
}

export async function setUpTenants(o: {
  readonly origin: string
  readonly adminToken: string
  /** Names with their canaries. */
  readonly tenants: ReadonlyMap<string, string>
  readonly smtpPort: number
  /** Names and passwords that the SMTP server takes. */
  readonly smtpUsers: Readonly<Record<string, string>>
  readonly webhookPort: number
  readonly log: NdjsonLog
}): Promise<ReadonlyMap<string, Tenant>> {
  const tenants = new Map<string, Tenant>()
  const call = async (token: string, path: string, body: object): Promise<Answer> => {
    const response = await fetch(`${o.origin}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const answer = (await response.json()) as Answer
    if (!response.ok) throw new Error(`${path}: ${response.status} ${JSON.stringify(answer)}`)
    return answer
  }
  for (const [tenant, canary] of o.tenants) {
    const { api_key: apiKey } = await call(o.adminToken, '/admin/v1/tenants', { name: tenant })
    const path = `/hook/${tenant}`
    const headers = { 'X-Hook-Secret': `secret ${canary}` }
    const { webhook_id: webhookId } = await call(apiKey, '/v1/webhook/register', {
      webhook_url: `http://127.0.0.1:${o.webhookPort}${path}`,
      event: 'EMAIL_EVENT',
      method: 'POST',
      headers,
      webhook_options: { events: { delivery: true, smtp_error: true } },
    })
    const [smtpUser = '', password = ''] = Object.entries(o.smtpUsers)[0] ?? []
    const { mailer } = await call(apiKey, '/v1/smtp', {
      name: `Mailer of ${tenant}`,
      email: senderOf(tenant),
      config_type: 'smtp',
      connection_type: 'basic',
      config: {
        ...{ host: '127.0.0.1', port: o.smtpPort, secure: 'None' },
        ...{ username: smtpUser, password },
      },
    })
    const mailerId = mailer.mailer_id
    const secrets = [apiKey, password, ...Object.values(headers)]
    o.log.append({
      ...{ fact: 'tenant.ready', tenant, canary, path, webhookId, headers, mailerId, secrets },
    })
    tenants.set(tenant, { apiKey })
  }
  return tenants
}

interface Answer {
  readonly api_key: string
  readonly webhook_id: string
  readonly mailer: { readonly mailer_id: string }
}
