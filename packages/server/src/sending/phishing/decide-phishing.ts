/**
 * Decides whether an email is stopped as phishing (docs/reference/sending.md#phishing): by a blocked domain,
 * by its score, or because it cannot be looked at within the limits. What cannot be checked does not pass:
 * an attacker would make the check fail.
 */
import { domainsAbove, type Scan, type ScanResult } from '@postrider/mail'
import type { PhishingSettings } from './settings.ts'

export type PhishingDecision =
  | { readonly kind: 'passed'; readonly score: number }
  | {
      readonly kind: 'flagged'
      readonly because: keyof typeof STOPPED_SENTENCES
      /** For the event and the log of the recipient: one line of ASCII. */
      readonly failedReason: string
    }

const REASONS_MAX = 3
const SCORE_MAX = 100

/** What `failed_reason` says, with names in braces for what differs from mail to mail. */
export const STOPPED_SENTENCES = {
  score: 'Stopped by phishing protection: {signs} (score {score}, threshold {threshold})',
  blocked_domain: 'Stopped by phishing protection: the content names {domain}, a blocked domain',
  too_much: 'Stopped by phishing protection: the content cannot be checked within the limits',
} as const

export function decidePhishing(result: ScanResult, settings: PhishingSettings): PhishingDecision {
  if (result.kind === 'too-much') return flagged('too_much')
  const { scan } = result
  const domain = findBlocked(scan, settings.blockedDomains)
  if (domain !== undefined) return flagged('blocked_domain', { domain })
  const score = scoreOf(scan)
  const { threshold } = settings
  if (score < threshold) return { kind: 'passed', score }
  const reasons = scan.signs.slice(0, REASONS_MAX).map(({ reason }) => reason)
  return flagged('score', { signs: reasons.join('; '), score, threshold })
}

function flagged(
  because: keyof typeof STOPPED_SENTENCES,
  values: Readonly<Record<string, string | number>> = {},
): PhishingDecision {
  const sentence: string = STOPPED_SENTENCES[because]
  const failedReason = sentence.replaceAll(/\{(\w+)\}/g, (_, name) => String(values[name]))
  return { kind: 'flagged', because, failedReason }
}

function scoreOf({ signs }: Scan): number {
  return Math.min(
    SCORE_MAX,
    signs.reduce((sum, { weight }) => sum + weight, 0),
  )
}

function findBlocked({ hosts }: Scan, blocked: ReadonlySet<string>): string | undefined {
  if (blocked.size === 0) return undefined
  for (const host of hosts) {
    const found = domainsAbove(host).find((domain) => blocked.has(domain))
    if (found !== undefined) return found
  }
  return undefined
}
