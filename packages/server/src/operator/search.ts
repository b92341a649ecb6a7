/**
 * search: what an id, an address or a domain belongs to, over all tenants. Every look is by an index: one probe
 * for each tenant, and for recipients one for each tenant and day, so both are bounded.
 */
import {
  type SearchAnswer,
  type SearchKind,
  type SearchResult,
  searchResultsMax,
} from '@postrider/contract'
import { addressKeyOf, parseAddress } from '@postrider/mail'
import { searchDomains } from '../domains/index.ts'
import { searchInboundDomains, searchInboundMessages } from '../inbound/index.ts'
import { searchMailers, searchMailersOf, searchMailersOfDomain } from '../mailers/index.ts'
import { findUserId } from '../people/index.ts'
import {
  type Db,
  type FoundOfTenant,
  readInOrder,
  type SearchTenants,
  type Tx,
} from '../platform/db/index.ts'
import { validationError } from '../platform/errors.ts'
import { dayOfUlid, isUlid } from '../platform/ids.ts'
import { dayAt } from '../platform/values/date-time.ts'
import { domainFirst, searchEmails, searchRecipients } from '../sending/index.ts'
import { searchSuppressions } from '../suppressions/index.ts'
import { findKeyOwner, listTenantIds } from '../tenants/index.ts'
import {
  searchDeliveries,
  searchEvents,
  searchOpenDeliveries,
  searchWebhooks,
} from '../webhooks/index.ts'

type Found = Pick<SearchAnswer, 'results' | 'complete'>

/** The newest. */
const TENANTS_MAX = 10_000
/** Of recipients: tenants times days. */
const PROBES_MAX = 20_000
const DAYS_MAX = 90
const STATEMENT_TIMEOUT_MS = 5_000
const DAY_MS = 86_400_000

interface Look {
  readonly kind: SearchKind
  readonly search: SearchTenants
  readonly value: string
  readonly bound?: string
}

/** Throws when `q` is none of the three. */
export async function search(db: Db, q: string): Promise<Found> {
  const text = q.trim()
  return await readInOrder(db, async (tx) => {
    await tx.query(`set local statement_timeout = ${STATEMENT_TIMEOUT_MS}`)
    const ids = await listTenantIds(tx, TENANTS_MAX + 1)
    const tenantIds = ids.slice(0, TENANTS_MAX)
    const looks = looksFor(text, tenantIds.length)
    const found = await Promise.all([
      ...looks.map((look) => lookAt(tx, look, tenantIds)),
      keysOf(tx, text),
      usersOf(tx, text),
      ids.includes(text) ? [{ kind: 'tenant' as const, id: text, tenant_id: text }] : [],
    ])
    const isCut = found.some((results) => results.length > searchResultsMax)
    return {
      results: found.flatMap((results) => results.slice(0, searchResultsMax)),
      complete: !isCut && ids.length <= TENANTS_MAX,
    }
  })
}

function looksFor(text: string, tenants: number): Look[] {
  if (text.includes('@')) return looksForAddress(text, tenants)
  const id = text.slice(text.indexOf('_') + 1)
  if (isUlid(id)) return looksForId(text, dayOfUlid(id))
  const parsed = parseAddress(`anybody@${text}`)
  if (!parsed.ok || !text.includes('.'))
    throw validationError({
      path: '/q',
      message: 'must be a whole id, a whole address or a whole domain',
    })
  const { domain } = parsed.address
  return [
    { kind: 'domain', search: searchDomains, value: domain },
    { kind: 'inbound_domain', search: searchInboundDomains, value: domain },
    { kind: 'mailer', search: searchMailersOfDomain, value: domain },
  ]
}

function looksForId(value: string, day: string): Look[] {
  const looks: Readonly<Record<string, readonly Look[]>> = {
    wh: [{ kind: 'webhook', search: searchWebhooks, value }],
    evt: [{ kind: 'event', search: searchEvents, value, bound: day }],
    dlv: [
      { kind: 'delivery', search: searchDeliveries, value, bound: day },
      { kind: 'delivery', search: searchOpenDeliveries, value },
    ],
    // Of no tenant.
    user: [],
    in: [{ kind: 'inbound_message', search: searchInboundMessages, value, bound: day }],
    '': [{ kind: 'email', search: searchEmails, value, bound: day }],
  }
  const prefix = value.includes('_') ? value.slice(0, value.indexOf('_')) : ''
  return [...(looks[prefix] ?? [{ kind: 'mailer', search: searchMailers, value }])]
}

function looksForAddress(text: string, tenants: number): Look[] {
  const parsed = parseAddress(text)
  if (!parsed.ok) throw validationError({ path: '/q', message: 'is no address' })
  const key = addressKeyOf(parsed.address.address)
  const days = Math.max(1, Math.min(DAYS_MAX, Math.floor(PROBES_MAX / Math.max(1, tenants))))
  return [
    { kind: 'mailer', search: searchMailersOf, value: key },
    { kind: 'suppression', search: searchSuppressions, value: key },
    {
      kind: 'recipient',
      search: searchRecipients,
      value: domainFirst(key),
      bound: dayAt(Date.now() - (days - 1) * DAY_MS),
    },
  ]
}

async function lookAt(
  tx: Tx,
  { kind, search: look, ...of }: Look,
  tenantIds: readonly string[],
): Promise<SearchResult[]> {
  const found = await look(tx, { ...of, tenantIds, limit: searchResultsMax + 1 })
  return found.map((one) => toResult(kind, one))
}

async function keysOf(tx: Tx, text: string): Promise<SearchResult[]> {
  return (await findKeyOwner(tx, text)).map((one) => toResult('api_key', one))
}

/** By the id or the address. */
async function usersOf(tx: Tx, text: string): Promise<SearchResult[]> {
  if (!text.includes('@') && !text.startsWith('user_')) return []
  const id = await findUserId({ db: tx }, text)
  return id === undefined ? [] : [{ kind: 'user', id, tenant_id: null }]
}

function toResult(kind: SearchKind, { id, tenantId }: FoundOfTenant): SearchResult {
  return { kind, id, tenant_id: tenantId }
}
