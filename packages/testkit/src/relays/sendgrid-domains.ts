/**
 * The authenticated domains of a SendGrid account (`/v3/whitelabel/domains`): created, validated,
 * listed and deleted, their records looked up at a name server or judged by a script.
 */
import { generateDkimKeys } from './dkim-keys.ts'
import type { DnsLook } from './dns-look.ts'
import { isDomainName } from './facts.ts'
import type { PeerReply, PeerRequest } from './http-peer.ts'
import { SENDGRID, sendGridError, toSendGridError } from './sendgrid-errors.ts'
import { BOOLEAN, findProblems, listOf, record, STRING } from './shapes.ts'

export interface SendGridRecord {
  readonly type: string
  readonly host: string
  readonly data: string
  readonly valid: boolean
}

export interface SendGridDomain {
  readonly id: number
  readonly domain: string
  readonly subdomain: string
  readonly ips: readonly string[]
  readonly isDefault: boolean
  readonly isAutomatic: boolean
  readonly isCustomSpf: boolean
  readonly valid: boolean
  readonly dns: Readonly<Record<string, SendGridRecord>>
}

/** Names of records (`mail_cname`, `dkim1`…) with why they are not valid, in place of looking at them. */
export type SendGridVerification = (
  domain: SendGridDomain,
) => Readonly<Record<string, string>> | 'fails'

export interface SendGridDomains {
  readonly all: readonly SendGridDomain[]
  find(domain: string): SendGridDomain | undefined
  isVerified(domain: string): boolean
  /** As if it had been created, and validated unless told otherwise. */
  add(domain: string, o?: { readonly valid?: boolean }): SendGridDomain
  /** Is of another account: creating it is refused. */
  addForeign(domain: string): void
  setVerification(verification: SendGridVerification | undefined): void
  handle(request: PeerRequest, path: readonly string[]): Promise<PeerReply>
}

type Changeable = { -readonly [K in keyof SendGridDomain]: SendGridDomain[K] }

const USER_ID = 1446226
const createShape = record(
  {
    domain: STRING,
    subdomain: STRING,
    username: STRING,
    ips: listOf(STRING),
    custom_spf: BOOLEAN,
    default: BOOLEAN,
    automatic_security: BOOLEAN,
    custom_dkim_selector: STRING,
  },
  ['domain'],
)

interface Asked {
  readonly domain: string
  readonly subdomain?: string
  readonly ips?: readonly string[]
  readonly custom_spf?: boolean
  readonly default?: boolean
  readonly automatic_security?: boolean
  readonly custom_dkim_selector?: string
}

/** The authenticated domains of one account, and how they are judged. */
interface Account {
  readonly dns: DnsLook | undefined
  readonly domains: Map<number, Changeable>
  /** Of other accounts. */
  readonly foreign: Set<string>
  lastId: number
  verification: SendGridVerification | undefined
}

export function createSendGridDomains(dns: DnsLook | undefined): SendGridDomains {
  const domains = new Map<number, Changeable>()
  const foreign = new Set<string>()
  const account: Account = {
    ...{ dns, domains, foreign },
    lastId: 302_182,
    verification: undefined,
  }
  return {
    get all() {
      return [...domains.values()]
    },
    find: (domain) => [...domains.values()].find((one) => one.domain === domain.toLowerCase()),
    isVerified: (domain) => [...domains.values()].some((one) => one.domain === domain && one.valid),
    add(domain, { valid = true } = {}) {
      return Object.assign(make(account, { domain }), { valid })
    },
    addForeign: (domain) => void foreign.add(domain),
    setVerification(next) {
      account.verification = next
    },
    async handle(request, [id, ...rest]) {
      if (id === undefined) return handleAll(account, request)
      const own = domains.get(Number(id))
      return own === undefined ? SENDGRID.notFound : handleOne(account, own, request, rest)
    },
  }
}

function handleAll(account: Account, { method, json, query }: PeerRequest): PeerReply {
  if (method === 'POST') return create(account, json)
  if (method !== 'GET') return SENDGRID.methodNotAllowed
  const wanted = query.get('domain')
  const all = [...account.domains.values()]
  const found = all.filter((one) => wanted === null || one.domain === wanted)
  return { status: 200, json: found.map(shown) }
}

async function handleOne(
  account: Account,
  own: Changeable,
  { method }: PeerRequest,
  [action, ...more]: readonly string[],
): Promise<PeerReply> {
  if (more.length > 0) return SENDGRID.notFound
  if (action === 'validate')
    return method === 'POST' ? validate(account, own) : SENDGRID.methodNotAllowed
  if (action !== undefined) return SENDGRID.notFound
  if (method === 'GET') return { status: 200, json: shown(own) }
  if (method !== 'DELETE') return SENDGRID.methodNotAllowed
  account.domains.delete(own.id)
  return { status: 204 }
}

function make(account: Account, asked: Asked): Changeable {
  account.lastId += 1
  const id = account.lastId
  const { domain, automatic_security: isAutomatic = true } = asked
  const subdomain = asked.subdomain ?? `em${id}`
  const made: Changeable = {
    id,
    domain,
    subdomain,
    ips: asked.ips ?? [],
    isDefault: asked.default ?? false,
    isAutomatic,
    isCustomSpf: asked.custom_spf ?? false,
    valid: false,
    dns: isAutomatic
      ? automaticRecords(domain, subdomain, asked.custom_dkim_selector)
      : manualRecords(domain, subdomain, asked.custom_dkim_selector),
  }
  account.domains.set(id, made)
  return made
}

function create(account: Account, body: unknown): PeerReply {
  const { domains, foreign } = account
  const problems = findProblems(body, createShape)
  if (problems.length > 0) return sendGridError(400, ...problems.map(toSendGridError))
  const asked = body as Asked
  const refused = (message: string, field: string) => sendGridError(400, { message, field })
  if (!isDomainName(asked.domain)) return refused('the domain is not valid', 'domain')
  if (asked.subdomain !== undefined && !/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/i.test(asked.subdomain))
    return refused('the subdomain is not valid', 'subdomain')
  const selector = asked.custom_dkim_selector
  if (selector !== undefined && !/^[a-z0-9]{1,3}$/i.test(selector))
    return refused('a selector has up to three letters or numbers', 'custom_dkim_selector')
  if (asked.custom_spf === true && asked.automatic_security !== false)
    return refused('custom_spf needs manual security', 'custom_spf')
  if (foreign.has(asked.domain) || [...domains.values()].some((one) => isSame(one, asked)))
    return refused('an authenticated domain already exists for this URL', 'domain')
  return { status: 201, json: shown(make(account, asked)) }
}

async function validate({ dns, verification }: Account, own: Changeable): Promise<PeerReply> {
  const failed = (type: string) =>
    sendGridError(500, { message: `internal error getting ${type}`, field: null })
  const said = verification?.(own)
  if (said === 'fails') return failed('CNAME')
  const reasons: Record<string, string> = { ...said }
  if (verification === undefined && dns !== undefined) {
    for (const [name, one] of Object.entries(own.dns)) {
      const reason = await findReason(dns, one)
      if (reason === 'fails') return failed(one.type.toUpperCase())
      if (reason !== undefined) reasons[name] = reason
    }
  }
  return noteReasons(own, reasons)
}

/** Records without a reason are valid. */
function noteReasons(own: Changeable, reasons: Readonly<Record<string, string>>): PeerReply {
  const isValid = (name: string) => reasons[name] === undefined
  own.dns = Object.fromEntries(
    Object.entries(own.dns).map(([name, one]) => [name, { ...one, valid: isValid(name) }]),
  )
  own.valid = Object.keys(reasons).length === 0
  const results = Object.keys(own.dns).map((name) => [
    name,
    { valid: isValid(name), reason: reasons[name] ?? null },
  ])
  return {
    status: 200,
    json: { id: own.id, valid: own.valid, validation_results: Object.fromEntries(results) },
  }
}

function isSame(one: SendGridDomain, asked: Asked): boolean {
  return (
    one.domain === asked.domain &&
    (asked.subdomain === undefined || one.subdomain === asked.subdomain)
  )
}

function automaticRecords(domain: string, subdomain: string, selector?: string) {
  const target = `u${USER_ID}.wl.sendgrid.net`
  const [first, second] = selector === undefined ? ['s1', 's2'] : [selector, `${selector}2`]
  const cname = (host: string, data: string): SendGridRecord => ({
    type: 'cname',
    host,
    data,
    valid: false,
  })
  return {
    mail_cname: cname(`${subdomain}.${domain}`, target),
    dkim1: cname(`${first}._domainkey.${domain}`, `${first}.domainkey.${target}`),
    dkim2: cname(`${second}._domainkey.${domain}`, `${second}.domainkey.${target}`),
  }
}

function manualRecords(domain: string, subdomain: string, selector = 'm1') {
  const one = (type: string, host: string, data: string): SendGridRecord => ({
    type,
    host,
    data,
    valid: false,
  })
  return {
    mail_server: one('mx', `${subdomain}.${domain}`, 'mx.sendgrid.net.'),
    subdomain_spf: one('txt', `${subdomain}.${domain}`, 'v=spf1 include:sendgrid.net ~all'),
    dkim: one(
      'txt',
      `${selector}._domainkey.${domain}`,
      `k=rsa; t=s; p=${generateDkimKeys(1024).publicKey}`,
    ),
  }
}

async function findReason(dns: DnsLook, one: SendGridRecord): Promise<string | undefined> {
  const expected = one.data.replace(/\.$/, '')
  try {
    const found =
      one.type === 'cname'
        ? await dns.cname(one.host)
        : one.type === 'mx'
          ? await dns.mx(one.host)
          : await dns.txt(one.host)
    if (found.includes(expected)) return undefined
    const type = one.type.toUpperCase()
    return `Expected ${type} for "${one.host}" to match "${expected}" but found "${found.join(', ')}".`
  } catch {
    return 'fails'
  }
}

function shown(own: SendGridDomain): Readonly<Record<string, unknown>> {
  return {
    id: own.id,
    user_id: USER_ID,
    subdomain: own.subdomain,
    domain: own.domain,
    username: 'example',
    ips: own.ips,
    custom_spf: own.isCustomSpf,
    default: own.isDefault,
    legacy: false,
    automatic_security: own.isAutomatic,
    valid: own.valid,
    dns: own.dns,
  }
}
