/**
 * Sending domains at SparkPost (its Sending Domains API).
 *
 * - It signs with the key that it is given: the one record that it asks for is that key's. What it
 *   sends returns to a domain of its own, which passes SPF; DMARC is met by the signature. A return
 *   path below the customer's domain would be a second sending domain there, verified by a CNAME and
 *   named in every transmission: none is made.
 * - It knows a domain by its name, and verifies it when it is told to look.
 * - A domain belongs to one account. Which one, its refusals do not always tell: then it is asked for.
 * - A new key is looked up before it is taken, so its record is published first.
 */
import { memberOf, parseJson } from '../../platform/values/json.ts'
import { textOf, wordsMax } from '../callbacks/report-fields.ts'
import type {
  RelayAccount,
  RelayAnswer,
  RelayDomain,
  RelayDomainCall,
  RelayDomainOutcome,
  RelayDomains,
  RelayRecord,
} from '../relay.ts'
import { buildRequest } from './build-request.ts'
import { failureOf } from './classify-errors.ts'
import { readErrors, sentenceOf } from './read-errors.ts'

const IN_USE_BY_ANOTHER = '7004'
const CONFLICT = '1602'
/** Of 4,096 bits it has 736 characters. */
const KEY_LENGTH_MAX = 1_000
const NOT_OWNED = 'SparkPost does not have the domain as verified'

export const domains: RelayDomains = {
  takesKeys: true,
  create: (account, domain) => ({
    request: buildRequest(account, 'POST', '/sending-domains', {
      domain: domain.domain,
      // Else it makes a key of its own, whatever it is given.
      generate_dkim: false,
      dkim: keyOf(domain),
      ...(domain.options.sharedWithSubaccounts === undefined
        ? {}
        : { shared_with_subaccounts: domain.options.sharedWithSubaccounts }),
    }),
    read: (answer) => readCreated(answer, account, domain),
  }),
  verify: (account, domain) => ({
    request: buildRequest(account, 'POST', `${pathOf(domain)}/verify`, { dkim_verify: true }),
    read: (answer) =>
      resultsOf(answer) === undefined ? refused(answer) : readVerified(answer, domain),
  }),
  changeKey: (account, domain) => ({
    request: buildRequest(account, 'PUT', pathOf(domain), { dkim: keyOf(domain) }),
    read: (answer) => (resultsOf(answer) === undefined ? refused(answer) : done(domain, true)),
  }),
  delete: (account, domain) => ({
    request: buildRequest(account, 'DELETE', pathOf(domain)),
    read: (answer) =>
      isDone(answer) ? { kind: 'done', records: [], agrees: false } : refused(answer),
  }),
}

function readCreated(
  answer: RelayAnswer,
  account: RelayAccount,
  domain: RelayDomain,
): RelayDomainOutcome | RelayDomainCall {
  if (resultsOf(answer) !== undefined) return done(domain, false)
  const errors = readErrors(answer.body) ?? []
  const detail = sentenceOf(errors)
  const codes = new Set(errors.map(({ code }) => code))
  if (codes.has(IN_USE_BY_ANOTHER)) return { kind: 'taken', isOwn: false, detail }
  const isTaken = answer.status === 409 || codes.has(CONFLICT) || /\balready\b/i.test(detail)
  return isTaken ? whose(account, domain, detail) : failed(answer)
}

/** Of another account's it says that there is none; of its own, the key that it signs with. */
function whose(account: RelayAccount, domain: RelayDomain, detail: string): RelayDomainCall {
  return {
    request: buildRequest(account, 'GET', pathOf(domain)),
    read(answer) {
      const results = resultsOf(answer)
      if (results !== undefined)
        return { kind: 'taken', isOwn: true, detail, ...keyIn(results, domain) }
      return refused(answer).kind === 'absent'
        ? { kind: 'taken', isOwn: false, detail }
        : failed(answer)
    },
  }
}

function keyIn(results: unknown, { domain }: RelayDomain): { records?: readonly RelayRecord[] } {
  const dkim = memberOf(results, 'dkim')
  const selector = textOf(dkim, 'selector')
  const publicKey = textOf(dkim, 'public', KEY_LENGTH_MAX)
  if (selector === undefined || publicKey === undefined) return {}
  return { records: [recordOf(domain, { selector, publicKey })] }
}

/** Verified by a mailbox it would send, too, but sign nothing. */
function readVerified(answer: RelayAnswer, domain: RelayDomain): RelayDomainOutcome {
  const results = resultsOf(answer)
  const dkim = textOf(results, 'dkim_status')
  if (dkim === undefined) return failed(answer)
  const compliance = textOf(results, 'compliance_status') ?? 'valid'
  const isOwned = memberOf(results, 'ownership_verified') === true
  const found = textOf(memberOf(results, 'dns'), 'dkim_error', wordsMax)
  if (compliance !== 'valid')
    return done(domain, false, `SparkPost has the domain as ${compliance}`)
  if (dkim !== 'valid')
    return done(domain, false, found ?? `SparkPost has the DKIM record as ${dkim}`)
  return isOwned ? done(domain, true) : done(domain, false, NOT_OWNED)
}

/** Of a success; a page that answers in its place has none. */
function resultsOf(answer: RelayAnswer): unknown {
  return isDone(answer) ? memberOf(parseJson(answer.body), 'results') : undefined
}

function done(domain: RelayDomain, agrees: boolean, detail?: string): RelayDomainOutcome {
  const records = [recordOf(domain.domain, domain.dkim)]
  return { kind: 'done', records, agrees, ...(detail === undefined ? {} : { detail }) }
}

function refused(answer: RelayAnswer): RelayDomainOutcome {
  // A page on the way may say 404 of anything.
  const isAbsent = answer.status === 404 && readErrors(answer.body) !== undefined
  return isAbsent ? { kind: 'absent' } : failed(answer)
}

function failed(answer: RelayAnswer): RelayDomainOutcome {
  return { kind: 'failed', failure: failureOf(answer) }
}

function isDone({ status }: RelayAnswer): boolean {
  return status >= 200 && status <= 299
}

function recordOf(
  domain: string,
  { selector, publicKey }: Pick<RelayDomain['dkim'], 'selector' | 'publicKey'>,
): RelayRecord {
  return {
    type: 'TXT',
    name: `${selector}._domainkey.${domain}`,
    value: `v=DKIM1; k=rsa; h=sha256; p=${publicKey}`,
    purpose: 'dkim',
    required: true,
  }
}

/** It takes both keys as base64 without the lines around them. */
function keyOf({ dkim }: RelayDomain): object {
  return {
    selector: dkim.selector,
    private: dkim.privateKey.replace(/-----[A-Z ]+-----|\s/g, ''),
    public: dkim.publicKey,
  }
}

function pathOf({ domain }: RelayDomain): string {
  return `/sending-domains/${encodeURIComponent(domain)}`
}
