/**
 * Sending domains at SendGrid ("domain authentication", `/v3/whitelabel/domains`).
 *
 * - It signs with keys of its own and takes none: `takesKeys` is false. What is published are CNAMEs
 *   to records that it keeps, and changes, itself. Given `ips` go into an SPF record of their own,
 *   which it offers only where all records stand in the tenant's zone: an MX and TXTs.
 * - Each domain is known by a number. It lets one account have the same domain any number of times,
 *   each under another subdomain, so before one is made those that are there are asked for: a call
 *   that is repeated, or a domain that its owner had set up before, becomes no second one.
 * - Whether it agrees is told by one call, the records by another: `verify` makes both.
 */
import { memberOf, parseJson } from '../../platform/values/json.ts'
import { storable, textOf } from '../callbacks/report-fields.ts'
import type {
  RelayAccount,
  RelayAnswer,
  RelayDomain,
  RelayDomainCall,
  RelayDomainOutcome,
  RelayDomains,
  RelayRecord,
  RelayRequest,
} from '../relay.ts'
import { isPage, readFailure } from './read-failure.ts'
import { authorizationOf } from './send.ts'

const PATH = '/v3/whitelabel/domains'
const ALREADY_THERE = /already (exists?|authenticated|in use)/i

export const domains: RelayDomains = {
  takesKeys: false,
  create: (account, domain) =>
    find(account, domain, (found) =>
      found === undefined
        ? make(account, domain)
        : { ...toOutcome(found, isValid(found)), wasThere: true },
    ),
  verify: (account, domain) => known(account, domain, (id) => validate(account, id)),
  delete: (account, domain) =>
    domain.providerId === undefined
      ? // One that it agrees with, and that we have not made, is somebody's.
        find(account, domain, (found) =>
          found === undefined || isValid(found) ? absent : remove(account, idOf(found)),
        )
      : remove(account, domain.providerId),
}

type Result = RelayDomainOutcome | RelayDomainCall

const absent: RelayDomainOutcome = { kind: 'absent' }

/** Its number, asked for where it is not known. */
function known(
  account: RelayAccount,
  domain: RelayDomain,
  next: (id: string) => RelayDomainCall,
): RelayDomainCall {
  if (domain.providerId !== undefined) return next(domain.providerId)
  return find(account, domain, (found) => (found === undefined ? absent : next(idOf(found))))
}

/** Of several, the one that it agrees with; else the latest. */
function find(
  account: RelayAccount,
  { domain }: RelayDomain,
  next: (found: unknown) => Result,
): RelayDomainCall {
  const query = new URLSearchParams({ domain, exclude_subusers: 'true', limit: '50' })
  return call(account, { method: 'GET', path: `${PATH}?${query}` }, (answer) => {
    const listed = parseJson(answer.body)
    if (answer.status !== 200 || !Array.isArray(listed)) return failed(answer)
    const same = listed.filter((one) => textOf(one, 'domain')?.toLowerCase() === domain)
    const latest = same.toSorted((a, b) => Number(idOf(b)) - Number(idOf(a)))
    return next(latest.find(isValid) ?? latest[0])
  })
}

function make(account: RelayAccount, { domain, options }: RelayDomain): RelayDomainCall {
  const { ips = [], selector } = options
  const body = {
    domain,
    automatic_security: ips.length === 0,
    ...(ips.length === 0 ? {} : { custom_spf: true, ips }),
    ...(selector === undefined ? {} : { custom_dkim_selector: selector }),
    // Mail of domains that the account has not set up is its owner's affair.
    default: false,
  }
  return call(account, { method: 'POST', path: PATH, body }, (answer) => {
    const made = parseJson(answer.body)
    if (answer.status === 201 && idOf(made) !== '') return toOutcome(made, isValid(made))
    // None of this account's: those were asked for.
    if (answer.status === 400 && ALREADY_THERE.test(answer.body))
      return { kind: 'taken', isOwn: false, detail: readFailure(answer).providerError }
    return failed(answer)
  })
}

function validate(account: RelayAccount, id: string): RelayDomainCall {
  return call(account, { method: 'POST', path: `${pathOf(id)}/validate` }, (answer) => {
    const verdict = parseJson(answer.body)
    const valid = memberOf(verdict, 'valid')
    if (answer.status !== 200 || typeof valid !== 'boolean') return refused(answer)
    const detail = valid ? '' : reasonsOf(memberOf(verdict, 'validation_results'))
    return call(account, { method: 'GET', path: pathOf(id) }, (read) =>
      read.status === 200 ? toOutcome(parseJson(read.body), valid, detail) : refused(read),
    )
  })
}

function remove(account: RelayAccount, id: string): RelayDomainCall {
  return call(account, { method: 'DELETE', path: pathOf(id) }, (answer) =>
    answer.status === 204 || answer.status === 200
      ? { kind: 'done', records: [], agrees: false }
      : refused(answer),
  )
}

const pathOf = (id: string) => `${PATH}/${encodeURIComponent(id)}`

function call(
  account: RelayAccount,
  request: Omit<RelayRequest, 'headers'>,
  read: (answer: RelayAnswer) => Result,
): RelayDomainCall {
  return { request: { ...request, headers: authorizationOf(account) }, read }
}

/** Of a call that names one domain. */
function refused(answer: RelayAnswer): RelayDomainOutcome {
  return answer.status === 404 && !isPage(answer) ? absent : failed(answer)
}

function failed(answer: RelayAnswer): RelayDomainOutcome {
  return { kind: 'failed', failure: readFailure(answer) }
}

function toOutcome(
  domain: unknown,
  agrees: boolean,
  detail = '',
): RelayDomainOutcome & { readonly kind: 'done' } {
  return {
    kind: 'done',
    providerId: idOf(domain),
    records: recordsOf(memberOf(domain, 'dns')),
    agrees,
    ...(detail === '' ? {} : { detail }),
  }
}

function idOf(domain: unknown): string {
  return textOf(domain, 'id') ?? ''
}

function isValid(domain: unknown): boolean {
  return memberOf(domain, 'valid') === true
}

/** Record by record, what it has against it. */
function reasonsOf(results: unknown): string {
  if (typeof results !== 'object' || results === null) return ''
  const reasons = Object.entries(results).flatMap(([record, result]) => {
    const reason = textOf(result, 'reason', 500)
    return reason === undefined ? [] : [`${record}: ${reason}`]
  })
  return storable(reasons.join('; '))
}

const VALUE_LENGTH_MAX = 4_096
const MX_PRIORITY = 10

/**
 * The records of a domain as SendGrid lists them, by names of its own: with automatic security
 * `mail_cname`, `dkim1` and `dkim2`, else `mail_server` (MX), `subdomain_spf`, `domain_spf` and
 * `dkim` (TXT). The root's SPF does nothing for mail whose return path is a subdomain.
 */
export function recordsOf(dns: unknown): readonly RelayRecord[] {
  if (typeof dns !== 'object' || dns === null) return []
  return Object.entries(dns).flatMap(([key, record]) => {
    const type = typeOf(textOf(record, 'type'))
    const name = textOf(record, 'host')
    const data = textOf(record, 'data', VALUE_LENGTH_MAX)
    const use = useOf(key)
    if (type === undefined || name === undefined || data === undefined || use === undefined)
      return []
    return [{ type, name: nameOf(name), ...targetOf(type, data), ...use }]
  })
}

type Use = Pick<RelayRecord, 'purpose' | 'required'>

function useOf(key: string): Use | undefined {
  if (key.startsWith('mail')) return { purpose: 'return_path', required: true }
  if (key.startsWith('dkim')) return { purpose: 'dkim', required: true }
  if (key === 'dmarc') return { purpose: 'dmarc', required: false }
  return key.endsWith('spf') ? { purpose: 'spf', required: key === 'subdomain_spf' } : undefined
}

function typeOf(text = ''): RelayRecord['type'] | undefined {
  const types: readonly RelayRecord['type'][] = ['TXT', 'CNAME', 'MX']
  return types.find((type) => type === text.toUpperCase())
}

function targetOf(
  type: RelayRecord['type'],
  data: string,
): Pick<RelayRecord, 'value' | 'priority'> {
  if (type === 'TXT') return { value: data }
  if (type === 'CNAME') return { value: nameOf(data) }
  const [, priority, host = data] = /^(\d{1,5})\s+(\S+)$/.exec(data) ?? []
  return { value: nameOf(host), priority: priority === undefined ? MX_PRIORITY : Number(priority) }
}

function nameOf(text: string): string {
  return text.toLowerCase().replace(/\.$/, '')
}
