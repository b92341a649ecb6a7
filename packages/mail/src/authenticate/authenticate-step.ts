/**
 * Finds out in a thread whose a message is, by SPF (RFC 7208), DKIM (RFC 6376), DMARC (RFC 9989) and ARC
 * (RFC 8617), with the answers of name servers that are known so far. It is done again with more answers
 * while questions are open; what was verified once is not verified again.
 *
 * It never rejects: what mailauth fails at is not known for now.
 */
import { arc } from 'mailauth/lib/arc/index.js'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { dmarc } from 'mailauth/lib/dmarc/index.js'
import { spf } from 'mailauth/lib/spf/index.js'
import { type Answers, createKnownLookups, type KnownLookups, type Question } from './lookups.ts'
import type { Authentication, DkimResult, DmarcResult, SpfResult } from './result.ts'
import { inSlices, makeVerifiable } from './verifiable.ts'

/** Of the SMTP transaction. */
export interface Client {
  readonly remoteIp: string
  readonly helo: string
  /** '' for a report. */
  readonly mailFrom: string
}

export interface AuthenticationJob {
  /** Undefined for mail of a mailbox: SPF is `none`, and DMARC rests on DKIM. */
  readonly client: Client | undefined
  /** This service, as it greets. */
  readonly name: string
  readonly message: { readonly kind: 'raw'; readonly raw: Uint8Array } | Signatures
  readonly answers: Answers
}

export interface AuthenticationStep {
  readonly authentication: Authentication
  /** Undefined while they have open questions. */
  readonly signatures: Signatures | undefined
  readonly open: readonly Question[]
}

/** What the signatures of a message prove. */
export type Signatures =
  | {
      readonly kind: 'verified'
      readonly authors: readonly string[]
      readonly authorFields: number
      readonly dkim: readonly DkimResult[]
      readonly arc: string
    }
  | { readonly kind: 'unverifiable'; readonly why: string }
  | { readonly kind: 'temporary' }

const SIGNATURES_MAX = 10
const TEXT_CHARS_MAX = 500
const NOBODY = 'nobody@invalid'

export async function authenticateStep(job: AuthenticationJob): Promise<AuthenticationStep> {
  const lookups = createKnownLookups(job.answers)
  const sender = await checkSender(job, lookups).catch(() => 'temporary' as const)
  const ofOthers = lookups.open.length
  const signatures =
    job.message.kind === 'raw'
      ? await verify(viewOf(job.message.raw), lookups).catch(() => TEMPORARY)
      : job.message
  const areKnown = lookups.open.length === ofOthers
  const author = await checkAuthor(sender, signatures, lookups).catch(() => TEMPERROR)
  return {
    authentication: {
      spf: sender === 'temporary' ? TEMPERROR : sender,
      dkim: dkimOf(signatures),
      dmarc: author,
      arc: arcOf(signatures),
    },
    signatures: areKnown ? signatures : undefined,
    open: lookups.open,
  }
}

/** Not a copy: that of 50 MB takes 30 ms, and a message without a signature is read on the event loop. */
function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}

const TEMPORARY: Signatures = { kind: 'temporary' }
const TEMPERROR = { result: 'temperror' } as const
const PERMERROR = { result: 'permerror' } as const

type Sender = SpfResult | 'temporary'

async function checkSender(job: AuthenticationJob, { lookup }: KnownLookups): Promise<SpfResult> {
  if (job.client === undefined) return { result: 'none' }
  const { remoteIp: ip, helo, mailFrom: sender } = job.client
  const input = { ip, sender, helo: bracketed(helo), mta: job.name, resolver: lookup }
  const { status, domain } = await spf(input)
  return { result: status.result, domain, ...explained(status.comment) }
}

async function verify(raw: Buffer, { lookup: resolver }: KnownLookups): Promise<Signatures> {
  const message = makeVerifiable(raw, SIGNATURES_MAX)
  if (message.kind === 'unverifiable') return message
  // The sender is that of the envelope: a Return-Path within the message need not be read.
  const options = { resolver, rejectRsaSha1: true, sender: NOBODY }
  const {
    headerFrom,
    fromFields,
    results,
    arc: data,
  } = await dkimVerify(inSlices(message), options)
  // What the one makes the other takes, with or without a chain: only their types differ.
  const chain = data && (await arc(data as Parameters<typeof arc>[0], { resolver }))
  return {
    kind: 'verified',
    authors: headerFrom,
    authorFields: fromFields,
    dkim: results.filter(({ status }) => status.result !== 'none').map(toDkimResult),
    arc: message.hasSurplusChain ? 'fail' : (chain?.status.result ?? 'none'),
  }
}

type Verified = Awaited<ReturnType<typeof dkimVerify>>['results'][number]

function toDkimResult({ status, signingDomain = '', selector = '' }: Verified): DkimResult {
  return {
    result: status.result,
    domain: signingDomain.slice(0, TEXT_CHARS_MAX),
    selector: selector.slice(0, TEXT_CHARS_MAX),
    ...(status.underSized === undefined ? {} : { partial: true as const }),
    ...explained(status.comment),
  }
}

async function checkAuthor(
  sender: Sender,
  signatures: Signatures,
  { lookup: resolver }: KnownLookups,
): Promise<DmarcResult> {
  if (signatures.kind === 'temporary') return TEMPERROR
  if (signatures.kind === 'unverifiable') return PERMERROR
  const { authors, authorFields, dkim } = signatures
  const isSenderKnown = sender !== 'temporary' && sender.domain !== undefined
  // Anybody may add to what a signature does not cover.
  const proven = dkim.filter(({ result, partial }) => result === 'pass' && partial !== true)
  const found = await dmarc({
    headerFrom: [...authors],
    fromFields: authorFields,
    spfDomains: isSenderKnown && sender.result === 'pass' ? [sender.domain ?? ''] : [],
    dkimDomains: proven.map(({ domain }) => ({ domain })),
    resolver,
  })
  // No author, or several of several domains (RFC 9989 §5.3.1).
  if (found === false) return PERMERROR
  const { status, policy } = found
  const domain = status.header?.from
  const mightHavePassed =
    sender === 'temporary' ||
    sender.result === 'temperror' ||
    dkim.some(({ result }) => result === 'temperror')
  return {
    result: status.result === 'fail' && mightHavePassed ? 'temperror' : status.result,
    ...(domain === undefined ? {} : { domain }),
    ...(policy === undefined ? {} : { policy }),
  }
}

function dkimOf(signatures: Signatures): DkimResult[] {
  if (signatures.kind === 'verified') return [...signatures.dkim]
  const nobodys = { domain: '', selector: '' }
  if (signatures.kind === 'temporary') return [{ ...TEMPERROR, ...nobodys }]
  return [{ ...PERMERROR, ...nobodys, explanation: signatures.why }]
}

function arcOf(signatures: Signatures): { readonly result: string } {
  if (signatures.kind === 'verified') return { result: signatures.arc }
  return signatures.kind === 'temporary' ? TEMPERROR : PERMERROR
}

function explained(comment: string | undefined): { readonly explanation?: string } {
  return comment === undefined ? {} : { explanation: comment.slice(0, TEXT_CHARS_MAX) }
}

/** An address in place of a name (RFC 5321 §4.1.3). */
function bracketed(helo: string): string {
  return /^[\d.]+$|:/.test(helo) && !helo.startsWith('[') ? `[${helo}]` : helo
}
