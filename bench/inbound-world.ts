/** Tenants whose domains are routed here: made over the API, their records published by a name server. */
import { operations } from '@postrider/contract'
import { createDnsServer, type DnsServer, type PublishedRecord } from '@postrider/testkit'
import { request } from 'undici'
import type { BenchOrder } from './report.ts'
import { setUpTenant, type Tenant } from './set-up.ts'

export interface RoutedTenant extends Tenant {
  readonly domain: string
  /** Each with a webhook of its own. */
  readonly addresses: readonly string[]
}

export async function startDns(o: Pick<BenchOrder, 'stopAtEnd'>): Promise<DnsServer> {
  const dns = await createDnsServer()
  o.stopAtEnd(() => dns.close())
  return dns
}

/** Of the processes that receive mail. */
export function inboundEnv(dns: DnsServer, port: number): Record<string, string | number> {
  return { DNS_SERVERS: dns.address, INBOUND_PORT: port, INBOUND_HOST: 'mx.postrider.test' }
}

export async function setUpRouted(
  origin: string,
  o: {
    readonly dns: DnsServer
    readonly name: string
    readonly hookUrl: string
    readonly webhooks: number
  },
): Promise<RoutedTenant> {
  const tenant = await setUpTenant(origin, { name: o.name, sender: '', hookUrl: o.hookUrl })
  const domain = `${o.name}.routed.test`
  const body = { domain, url: o.hookUrl, method: 'POST' }
  const { path } = operations.configureInboundRouting
  const configured = await ask(origin + path, 'POST', tenant.headers, body)
  o.dns.publish(configured.inbound_domain.records)
  const { path: ofDomain } = operations.getInboundDomain
  const found = await ask(origin + ofDomain.replace('{domain}', domain), 'GET', tenant.headers)
  if (!found.inbound_domain.verified) throw new Error(`${domain} is not verified`)
  const ofUsernames = operations.createInboundUsername.path.replace('{domain}', domain)
  const usernames = Array.from({ length: o.webhooks }, (_, i) => `desk${i}`)
  for (const username of usernames)
    await ask(origin + ofUsernames, 'POST', tenant.headers, {
      username,
      url: `${o.hookUrl}${username}`,
    })
  return { ...tenant, domain, addresses: usernames.map((one) => `${one}@${domain}`) }
}

/** Of a domain. */
interface Answer {
  readonly inbound_domain: {
    readonly verified: boolean
    readonly records: readonly PublishedRecord[]
  }
}

async function ask(
  url: string,
  method: 'GET' | 'POST',
  headers: Readonly<Record<string, string>>,
  body?: object,
): Promise<Answer> {
  const answer = await request(url, {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.body.text()
  if (answer.statusCode >= 300) throw new Error(`${url}: ${answer.statusCode} ${text}`)
  return JSON.parse(text) as Answer
}
