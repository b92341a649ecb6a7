/**
 * The sending domains of a SparkPost account (Sending Domains API): created, verified, changed and
 * deleted as its documents say, their records looked up at a name server or judged by a script.
 */
import { randomBytes } from 'node:crypto'
import { type DkimKeyPair, generateDkimKeys, isDkimPair } from './dkim-keys.ts'
import type { DnsLook } from './dns-look.ts'
import { isDomainName } from './facts.ts'
import type { PeerReply, PeerRequest } from './http-peer.ts'
import { BOOLEAN, findBroken, INTEGER, record, type Shape, STRING } from './shapes.ts'
import {
  isInvalid,
  isMissing,
  NO_METHOD,
  NO_URI,
  notFound,
  sparkPostError,
} from './sparkpost-errors.ts'
import {
  type ChangeableDomain,
  type Dkim,
  findRecordProblem,
  type RecordJudge,
  type SparkPostDomain,
  type SparkPostVerification,
  verifyRecords,
} from './sparkpost-records.ts'

export interface SparkPostDomains {
  readonly all: readonly SparkPostDomain[]
  find(domain: string): SparkPostDomain | undefined
  /** As if it had been created, and verified unless told otherwise. */
  add(domain: string, changes?: Partial<Omit<SparkPostDomain, 'domain'>>): SparkPostDomain
  /** Is of another account: creating it is refused. */
  addForeign(domain: string): void
  setVerification(verification: SparkPostVerification | undefined): void
  handle(request: PeerRequest, path: readonly string[]): Promise<PeerReply>
}

const SIGNED_HEADERS = 'from:to:subject:date'
const keyFields = {
  signing_domain: STRING,
  private: STRING,
  public: STRING,
  selector: STRING,
  headers: STRING,
}
const dkimShape = record(keyFields, ['private', 'public', 'selector'])
const createShape = record(
  {
    domain: STRING,
    tracking_domain: STRING,
    dkim: dkimShape,
    generate_dkim: BOOLEAN,
    dkim_key_length: INTEGER,
    shared_with_subaccounts: BOOLEAN,
  },
  ['domain'],
)
const verifyShape = record({
  dkim_verify: BOOLEAN,
  cname_verify: BOOLEAN,
  mx_verify: BOOLEAN,
  spf_verify: BOOLEAN,
  verification_mailbox_verify: BOOLEAN,
  verification_mailbox: STRING,
  postmaster_at_verify: BOOLEAN,
  abuse_at_verify: BOOLEAN,
  verification_mailbox_token: STRING,
  postmaster_at_token: STRING,
  abuse_at_token: STRING,
})
const updateShape = record({
  tracking_domain: STRING,
  dkim: dkimShape,
  shared_with_subaccounts: BOOLEAN,
  is_default_bounce_domain: BOOLEAN,
})

/** The sending domains of one account, and how they are judged. */
interface Account extends RecordJudge {
  readonly onIgnored: (paths: readonly string[]) => void
  readonly domains: Map<string, ChangeableDomain>
  /** Of other accounts. */
  readonly foreign: Set<string>
  /** One pair for all that are generated: making it takes long. */
  generated: DkimKeyPair | undefined
}

export function createSparkPostDomains(
  dns: DnsLook | undefined,
  onIgnored: (paths: readonly string[]) => void,
): SparkPostDomains {
  const domains = new Map<string, ChangeableDomain>()
  const foreign = new Set<string>()
  const account: Account = {
    ...{ dns, onIgnored, domains, foreign },
    generated: undefined,
    verification: undefined,
  }
  return {
    get all() {
      return [...domains.values()]
    },
    find: (domain) => domains.get(domain.toLowerCase()),
    add(domain, changes = {}) {
      const made = make(account, domain, changes.dkim ?? standInKeys(domain), false)
      return Object.assign(made, { dkimStatus: 'valid', ...changes })
    },
    addForeign: (domain) => void foreign.add(domain),
    setVerification(next) {
      account.verification = next
    },
    async handle(request, [name, ...rest]) {
      if (name === undefined) return handleAll(account, request)
      const own = domains.get(name)
      if (own === undefined) return notFound(`Domain '${name}' does not exist`)
      return handleOne(account, own, request, rest)
    },
  }
}

function handleAll(account: Account, { method, json }: PeerRequest): PeerReply {
  if (method === 'POST') return create(account, json)
  if (method !== 'GET') return NO_METHOD
  return { status: 200, json: { results: [...account.domains.values()].map(listed) } }
}

async function handleOne(
  account: Account,
  own: ChangeableDomain,
  { method, json }: PeerRequest,
  [action, ...more]: readonly string[],
): Promise<PeerReply> {
  if (more.length > 0 || (action !== undefined && action !== 'verify')) return NO_URI
  if (action === 'verify') return method === 'POST' ? verify(account, own, json) : NO_METHOD
  if (method === 'PUT') return update(account, own, json)
  if (method === 'GET') {
    const dkim = { ...withoutPrivate(own.dkim), headers: SIGNED_HEADERS }
    const { domain: _name, ...rest } = listed(own)
    return { status: 200, json: { results: { ...rest, dkim } } }
  }
  if (method !== 'DELETE') return NO_METHOD
  account.domains.delete(own.domain)
  return { status: 204 }
}

function create(account: Account, body: unknown): PeerReply {
  const refusal = check(account, body, createShape)
  if (refusal !== undefined) return refusal
  const asked = body as AskedDomain
  const domain = asked.domain.toLowerCase()
  const problem = findDomainProblem(account, domain, asked) ?? findGivenKeyProblem(asked)
  if (problem !== undefined) return problem
  const given = givenKeys(asked)
  const dkim =
    given === undefined
      ? generate(account, domain)
      : { ...given, signing_domain: given.signing_domain ?? domain }
  make(account, domain, dkim, asked.shared_with_subaccounts ?? false)
  const shown = { ...withoutPrivate(dkim), headers: SIGNED_HEADERS }
  return {
    status: 200,
    json: {
      results: {
        message: 'Successfully Created domain.',
        domain,
        ...(given === undefined ? { dkim: shown } : {}),
      },
    },
  }
}

interface AskedDomain {
  readonly domain: string
  readonly dkim?: Dkim
  readonly generate_dkim?: boolean
  readonly shared_with_subaccounts?: boolean
  readonly tracking_domain?: string
}

function findDomainProblem(
  { domains, foreign }: Account,
  domain: string,
  asked: AskedDomain,
): PeerReply | undefined {
  if (!isDomainName(domain)) return isInvalid(`not a domain: ${asked.domain}`)
  if (asked.tracking_domain !== undefined) return noTrackingDomain(asked.tracking_domain)
  if (foreign.has(domain))
    return sparkPostError(
      400,
      '7004',
      'Domain in use by another account',
      'Please contact support to check about this org-domain availability.',
    )
  if (domains.has(domain))
    return sparkPostError(409, '1602', 'resource conflict', `Domain '${domain}' already exists`)
  return undefined
}

/** By default it makes keys of its own, whatever it is given. */
function givenKeys({ dkim, generate_dkim }: AskedDomain): Dkim | undefined {
  return generate_dkim === false ? dkim : undefined
}

function findGivenKeyProblem(asked: AskedDomain): PeerReply | undefined {
  if (asked.generate_dkim !== false) return undefined
  return asked.dkim === undefined ? isMissing('dkim is required') : findKeyProblem(asked.dkim)
}

async function verify(account: Account, own: ChangeableDomain, body: unknown): Promise<PeerReply> {
  const refusal = check(account, body, verifyShape)
  if (refusal !== undefined) return refusal
  const { dkim_verify: dkim = false, cname_verify: cname = false } = body as {
    dkim_verify?: boolean
    cname_verify?: boolean
  }
  const shown = await verifyRecords(account, own, { dkim, cname })
  return {
    status: 200,
    json: { results: { ...statusOf(own), ...(dkim || cname ? { dns: shown } : {}) } },
  }
}

async function update(account: Account, own: ChangeableDomain, body: unknown): Promise<PeerReply> {
  const refusal = check(account, body, updateShape)
  if (refusal !== undefined) return refusal
  const asked = body as {
    dkim?: Dkim
    shared_with_subaccounts?: boolean
    tracking_domain?: string
  }
  if (asked.tracking_domain !== undefined && asked.tracking_domain !== '')
    return noTrackingDomain(asked.tracking_domain)
  const problem = asked.dkim && (await changeKeys(account, own, asked.dkim))
  if (problem !== undefined) return problem
  own.sharedWithSubaccounts = asked.shared_with_subaccounts ?? own.sharedWithSubaccounts
  return {
    status: 200,
    json: { results: { message: 'Successfully Updated Domain.', domain: own.domain } },
  }
}

/** New keys are taken once their record is there. */
async function changeKeys(
  account: Account,
  own: ChangeableDomain,
  dkim: Dkim,
): Promise<PeerReply | undefined> {
  const next = { ...dkim, signing_domain: dkim.signing_domain ?? own.domain }
  const problem = findKeyProblem(next)
  if (problem !== undefined) return problem
  const error = await findRecordProblem(account, own, next)
  if (error !== undefined)
    return sparkPostError(
      400,
      '1404',
      'request to remote endpoint failed',
      `Unable to verify DKIM record of ${own.domain}. DNS DKIM query error: ${error}`,
    )
  own.dkim = next
  own.dkimStatus = 'valid'
  return undefined
}

function check({ onIgnored }: Account, body: unknown, shape: Shape): PeerReply | undefined {
  const broken = findBroken(body, shape, onIgnored)
  if (broken === undefined) return undefined
  return broken.kind === 'missing'
    ? isMissing(`${broken.path} is required`)
    : isInvalid(`${broken.path} must be ${broken.expected}, not ${broken.given}`)
}

function make({ domains }: Account, domain: string, dkim: Dkim, shared: boolean): ChangeableDomain {
  const made: ChangeableDomain = {
    domain,
    dkim,
    dkimStatus: 'unverified',
    cnameStatus: 'unverified',
    isBlocked: false,
    sharedWithSubaccounts: shared,
  }
  domains.set(domain, made)
  return made
}

function generate(account: Account, domain: string): Dkim {
  account.generated ??= generateDkimKeys(2048)
  const { privateKey, publicKey } = account.generated
  const selector = `scph${String(account.domains.size + 1).padStart(4, '0')}`
  return { selector, private: privateKey, public: publicKey, signing_domain: domain }
}

function findKeyProblem(given: Dkim): PeerReply | undefined {
  if (!/^[A-Za-z0-9]([A-Za-z0-9.-]{0,61}[A-Za-z0-9])?$/.test(given.selector))
    return isInvalid(`not a selector: '${given.selector}'`)
  return isDkimPair(given.private, given.public)
    ? undefined
    : isInvalid('dkim.private and dkim.public are not a pair of RSA keys in base64')
}

function noTrackingDomain(name: string): PeerReply {
  const description = `Tracking domain '${name}' is not a registered tracking domain`
  return sparkPostError(400, '1200', 'invalid params', description)
}

/** Making real ones takes long, and nothing is signed. */
function standInKeys(domain: string): Dkim {
  const key = randomBytes(294).toString('base64')
  return { selector: 'scph0001', private: key, public: key, signing_domain: domain }
}

function withoutPrivate({ private: _secret, ...dkim }: Dkim): Omit<Dkim, 'private'> {
  return dkim
}

function statusOf(own: SparkPostDomain): Readonly<Record<string, unknown>> {
  return {
    ownership_verified: [own.dkimStatus, own.cnameStatus].includes('valid'),
    dkim_status: own.dkimStatus,
    cname_status: own.cnameStatus,
    mx_status: 'unverified',
    spf_status: 'unverified',
    compliance_status: own.isBlocked ? 'blocked' : 'valid',
    abuse_at_status: 'unverified',
    postmaster_at_status: 'unverified',
    verification_mailbox_status: 'unverified',
  }
}

function listed(own: SparkPostDomain): Readonly<Record<string, unknown>> {
  return {
    domain: own.domain,
    status: statusOf(own),
    shared_with_subaccounts: own.sharedWithSubaccounts,
    is_default_bounce_domain: false,
  }
}
