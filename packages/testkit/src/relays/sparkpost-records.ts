/** How the records of a SparkPost account's sending domains are judged: by a script, or by a look at them. */
import { dkimRecordProblem } from './dkim-keys.ts'
import type { DnsLook } from './dns-look.ts'

export type SparkPostStatus = 'unverified' | 'pending' | 'invalid' | 'valid'

export interface SparkPostDomain {
  readonly domain: string
  readonly dkim: {
    readonly selector: string
    readonly public: string
    readonly private: string
    readonly signing_domain: string
  }
  readonly dkimStatus: SparkPostStatus
  readonly cnameStatus: SparkPostStatus
  readonly isBlocked: boolean
  readonly sharedWithSubaccounts: boolean
}

/** What a verification finds, in place of looking at the records. */
export type SparkPostVerification = (
  domain: SparkPostDomain,
  asked: { readonly dkim: boolean; readonly cname: boolean },
) => { readonly dkim?: SparkPostStatus; readonly cname?: SparkPostStatus; readonly error?: string }

export type ChangeableDomain = { -readonly [K in keyof SparkPostDomain]: SparkPostDomain[K] }
export type Dkim = SparkPostDomain['dkim']

/** Without a script and a name server, all that is asked is valid. */
export interface RecordJudge {
  readonly dns: DnsLook | undefined
  verification: SparkPostVerification | undefined
}

const CNAME_TARGETS = ['sparkpostmail.com', 'eu.sparkpostmail.com']

/** What an answer shows of the records. */
type ShownRecords = Readonly<Record<string, string>>

export async function verifyRecords(
  { dns, verification }: RecordJudge,
  own: ChangeableDomain,
  asked: { readonly dkim: boolean; readonly cname: boolean },
): Promise<ShownRecords> {
  if (verification !== undefined || dns === undefined) return verifyAsTold(verification, own, asked)
  return {
    ...(asked.dkim ? await verifyDkim(dns, own) : {}),
    ...(asked.cname ? await verifyCname(dns, own) : {}),
  }
}

/** Of keys that are to be the domain's. */
export async function findRecordProblem(
  { dns, verification }: RecordJudge,
  own: ChangeableDomain,
  dkim: Dkim,
): Promise<string | undefined> {
  if (verification === undefined && dns !== undefined)
    return (await lookForDkim(dns, own.domain, dkim)).problem
  const found = verification?.({ ...own, dkim }, { dkim: true, cname: false })
  return (found?.dkim ?? 'valid') === 'valid' ? undefined : (found?.error ?? 'no such record')
}

function verifyAsTold(
  verification: SparkPostVerification | undefined,
  own: ChangeableDomain,
  { dkim, cname }: { readonly dkim: boolean; readonly cname: boolean },
): ShownRecords {
  const found = verification?.(own, { dkim, cname }) ?? { dkim: 'valid', cname: 'valid' }
  if (dkim) own.dkimStatus = found.dkim ?? own.dkimStatus
  if (cname) own.cnameStatus = found.cname ?? own.cnameStatus
  return dkim && found.error !== undefined ? { dkim_error: found.error } : {}
}

async function verifyDkim(dns: DnsLook, own: ChangeableDomain): Promise<ShownRecords> {
  const found = await lookForDkim(dns, own.domain, own.dkim)
  own.dkimStatus = found.problem === undefined ? 'valid' : 'invalid'
  return {
    ...(found.record === undefined ? {} : { dkim_record: found.record }),
    ...(found.problem === undefined ? {} : { dkim_error: found.problem }),
  }
}

async function verifyCname(dns: DnsLook, own: ChangeableDomain): Promise<ShownRecords> {
  const targets = await dns.cname(own.domain)
  own.cnameStatus = targets.some((one) => CNAME_TARGETS.includes(one)) ? 'valid' : 'invalid'
  return {
    ...(targets[0] === undefined ? {} : { cname_record: targets[0] }),
    ...(own.cnameStatus === 'invalid' ? { cname_error: 'CNAME record not found' } : {}),
  }
}

async function lookForDkim(
  dns: DnsLook,
  domain: string,
  dkim: Dkim,
): Promise<{ readonly record?: string; readonly problem?: string }> {
  const name = `${dkim.selector}._domainkey.${dkim.signing_domain || domain}`
  try {
    const [found, ...others] = await dns.txt(name)
    if (found === undefined) return { problem: 'DNS record not found' }
    if (others.length > 0) return { record: found, problem: 'more than one record' }
    const problem = dkimRecordProblem(found, dkim.public)
    return { record: found, ...(problem === undefined ? {} : { problem }) }
  } catch (error) {
    return { problem: `DNS query failed: ${String(error)}` }
  }
}
