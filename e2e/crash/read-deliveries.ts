/** Reads the service's own record of webhook deliveries, over its API, and writes it down. */
import { setTimeout as delay } from 'node:timers/promises'
import type { NdjsonLog } from '@postrider/testkit'
import type { ClientFact, DeliveryRecord } from './history.ts'
import type { Tenant } from './set-up.ts'

type When = Extract<ClientFact, { fact: 'deliveries.read' }>['when']

/** Small, so that there are many pages. */
const PAGE_SIZE = 40
const PAGES_MAX = 1_000
const ANSWER_WITHIN_MS = 10_000
const LOOK_AGAIN_MS = 500

export async function readDeliveries(o: {
  readonly origin: string
  readonly tenants: ReadonlyMap<string, Tenant>
  readonly when: When
  readonly log: NdjsonLog
}): Promise<void> {
  for (const [tenant, { apiKey }] of o.tenants) {
    const deliveries = await readAll(o.origin, apiKey)
    o.log.append({ fact: 'deliveries.read', tenant, when: o.when, deliveries })
  }
}

/** Until every delivery that is not settled holds one event, or the time is up: the checker judges. */
export async function waitUntilParted(o: {
  readonly origin: string
  readonly tenants: ReadonlyMap<string, Tenant>
  readonly withinMs: number
}): Promise<void> {
  const endsAt = performance.now() + o.withinMs
  for (const { apiKey } of o.tenants.values()) {
    for (;;) {
      const deliveries = await readAll(o.origin, apiKey)
      const isParted = deliveries.every((one) => one.events.length === 1 || !isUnsettled(one))
      if (isParted || performance.now() > endsAt) break
      await delay(LOOK_AGAIN_MS)
    }
  }
}

export function isUnsettled({ status }: DeliveryRecord): boolean {
  return ['pending', 'retrying', 'parked'].includes(status)
}

async function readAll(origin: string, apiKey: string): Promise<DeliveryRecord[]> {
  const deliveries: DeliveryRecord[] = []
  let pageToken: string | undefined
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const query = new URLSearchParams({ pageSize: String(PAGE_SIZE) })
    if (pageToken !== undefined) query.set('pageToken', pageToken)
    const response = await fetch(`${origin}/v1/webhook/deliveries?${query}`, {
      headers: { authorization: `Bearer ${apiKey}` },
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    })
    const answer = (await response.json()) as Page
    if (!response.ok) throw new Error(`deliveries: ${response.status} ${JSON.stringify(answer)}`)
    deliveries.push(...answer.deliveries)
    pageToken = answer.nextPageToken
    if (pageToken === undefined) return deliveries
  }
  throw new Error(`more than ${PAGES_MAX} pages of deliveries`)
}

interface Page {
  readonly deliveries: readonly DeliveryRecord[]
  readonly nextPageToken?: string
}
