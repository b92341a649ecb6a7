/**
 * Whose a received message is, by SPF (RFC 7208), DKIM (RFC 6376), DMARC (RFC 9989) and ARC (RFC 8617).
 * Asks name servers and nobody else.
 *
 * It never rejects, and ends within its time: what is not known by then is `temperror`, what can never be
 * `permerror`. Mail from a mailbox has no client: SPF is `none`, and DMARC rests on DKIM.
 */
import { arc } from 'mailauth/lib/arc/index.js'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { dmarc } from 'mailauth/lib/dmarc/index.js'
import { spf } from 'mailauth/lib/spf/index.js'
import { inTime } from '../../platform/in-time.ts'
import { boundLookups, type Lookup, type LookupResolver } from './bounded-lookups.ts'
import type { Authentication, DkimResult, DmarcResult, SpfResult } from './result.ts'
import { makeVerifiable, readInSlices } from './verifiable.ts'

export interface AuthenticationInput {
  readonly raw: Buffer
  /** Of the SMTP client; absent for mail of a mailbox. */
  readonly remoteIp?: string
  readonly helo?: string
  /** '' for a report. */
  readonly mailFrom?: string
  /** This service, as it greets. */
  readonly name: string
  readonly resolver: LookupResolver
  readonly timeoutMs?: number
  readonly signaturesMax?: number
  readonly monotonicMs?: () => number
}

const TIMEOUT_MS = 10_000
const SIGNATURES_MAX = 10
/** SPF may take ten and their addresses, each signature one, a walk up the author's domain eight. */
const LOOKUPS_MAX = 100
const TEXT_CHARS_MAX = 500

export async function authenticateMail(input: AuthenticationInput): Promise<Authentication> {
  const { timeoutMs = TIMEOUT_MS, monotonicMs = () => performance.now() } = input
  const endMs = monotonicMs() + timeoutMs
  const leftMs = () => Math.max(0, endMs - monotonicMs())
  const isOver = () => leftMs() === 0
  const lookup = boundLookups({ resolver: input.resolver, lookupsMax: LOOKUPS_MAX, isOver })
  const [sender, signatures] = await Promise.all([
    orTemporary(checkSender(input, lookup), leftMs()),
    orTemporary(checkSignatures(input, lookup, isOver), leftMs()),
  ])
  const chain = await orTemporary(checkChain(signatures, lookup), leftMs())
  const author = await orTemporary(checkAuthor(sender, signatures, lookup), leftMs())
  return {
    spf: sender === 'temporary' ? { result: 'temperror' } : sender,
    dkim: dkimResults(signatures),
    dmarc: author === 'temporary' ? { result: 'temperror' } : author,
    arc: chain === 'temporary' ? { result: 'temperror' } : chain,
  }
}

type Verified = Awaited<ReturnType<typeof dkimVerify>>
type Signatures = Verified | { readonly why: string } | 'temporary'
type Sender = SpfResult | 'temporary'

/** Also what mailauth fails at: nobody knows better. */
function orTemporary<T>(work: Promise<T>, ms: number): Promise<T | 'temporary'> {
  return inTime(work, ms).catch(() => 'temporary')
}

async function checkSender(input: AuthenticationInput, resolver: Lookup): Promise<SpfResult> {
  const { remoteIp: ip, helo = '', mailFrom: sender = '', name: mta } = input
  if (ip === undefined) return { result: 'none' }
  const { status, domain } = await spf({ ip, sender, helo: bracketed(helo), mta, resolver })
  return { result: status.result, domain, ...explained(status.comment) }
}

async function checkSignatures(
  { raw, signaturesMax = SIGNATURES_MAX }: AuthenticationInput,
  resolver: Lookup,
  isOver: () => boolean,
): Promise<Verified | { readonly why: string }> {
  const message = makeVerifiable(raw, signaturesMax)
  if (message.kind === 'unverifiable') return message
  return dkimVerify(readInSlices(message, isOver), { resolver, rejectRsaSha1: true })
}

async function checkChain(
  signatures: Signatures,
  resolver: Lookup,
): Promise<{ readonly result: string } | 'temporary'> {
  if (signatures === 'temporary') return signatures
  if ('why' in signatures) return { result: 'permerror' }
  if (signatures.arc === undefined) return { result: 'none' }
  // What the one makes the other takes, with or without a chain: only their types differ.
  const data = signatures.arc as Parameters<typeof arc>[0]
  const { status } = await arc(data, { resolver })
  return { result: status.result }
}

async function checkAuthor(
  sender: Sender,
  signatures: Signatures,
  resolver: Lookup,
): Promise<DmarcResult | 'temporary'> {
  if (signatures === 'temporary') return signatures
  if ('why' in signatures) return { result: 'permerror' }
  const { headerFrom, fromFields, results } = signatures
  const hasPassed = results.filter(({ status }) => status.result === 'pass')
  const found = await dmarc({
    headerFrom,
    fromFields,
    spfDomains:
      sender !== 'temporary' && sender.result === 'pass' && sender.domain !== undefined
        ? [sender.domain]
        : [],
    dkimDomains: hasPassed.map(({ signingDomain: domain = '', status }) => ({
      domain,
      ...(status.underSized === undefined ? {} : { underSized: status.underSized }),
    })),
    resolver,
  })
  // No author, or several of several domains (RFC 9989 §5.3.1).
  if (found === false) return { result: 'permerror' }
  const { status, policy } = found
  const domain = status.header?.from
  const known = {
    ...(domain === undefined ? {} : { domain }),
    ...(policy === undefined ? {} : { policy }),
  }
  const mightHavePassed =
    sender === 'temporary' ||
    sender.result === 'temperror' ||
    results.some((one) => one.status.result === 'temperror')
  return {
    result: status.result === 'fail' && mightHavePassed ? 'temperror' : status.result,
    ...known,
  }
}

function dkimResults(signatures: Signatures): DkimResult[] {
  if (signatures === 'temporary') return [{ result: 'temperror', domain: '', selector: '' }]
  if ('why' in signatures)
    return [{ result: 'permerror', domain: '', selector: '', explanation: signatures.why }]
  return signatures.results
    .filter(({ status }) => status.result !== 'none')
    .map(({ status, signingDomain = '', selector = '' }) => ({
      result: status.result,
      domain: signingDomain.slice(0, TEXT_CHARS_MAX),
      selector: selector.slice(0, TEXT_CHARS_MAX),
      ...explained(status.comment),
    }))
}

function explained(comment: string | undefined): { readonly explanation?: string } {
  return comment === undefined ? {} : { explanation: comment.slice(0, TEXT_CHARS_MAX) }
}

/** An address in place of a name (RFC 5321 §4.1.3). */
function bracketed(helo: string): string {
  return /^[\d.]+$|:/.test(helo) && !helo.startsWith('[') ? `[${helo}]` : helo
}
