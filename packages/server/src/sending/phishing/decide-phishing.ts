/**
 * Decides whether an email is stopped as phishing (interface §6.1, §6.4.7): by a blocked domain, by
 * its score, or because it cannot be looked at within the limits. What cannot be checked does not
 * pass: whoever wants to get past a check would make it fail.
 */
import { domainsAbove, type Scan, type ScanResult } from '../../mail/index.ts'
import type { PhishingSettings } from './settings.ts'

export type PhishingDecision =
  | { readonly kind: 'passed'; readonly score: number }
  | {
      readonly kind: 'flagged'
      readonly because: 'blocked_domain' | 'score' | 'too_much'
      /** For the event and the log of the recipient: one line of ASCII. */
      readonly failedReason: string
    }

const REASONS_MAX = 3
const SCORE_MAX = 100
const STOPPED = 'Stopped by phishing protection'

export function decidePhishing(result: ScanResult, settings: PhishingSettings): PhishingDecision {
  if (result.kind === 'too-much') {
    const failedReason = `${STOPPED}: the content cannot be checked within the limits`
    return { kind: 'flagged', because: 'too_much', failedReason }
  }
  const { scan } = result
  const domain = findBlocked(scan, settings.blockedDomains)
  if (domain !== undefined) {
    const failedReason = `${STOPPED}: the content names ${domain}, a blocked domain`
    return { kind: 'flagged', because: 'blocked_domain', failedReason }
  }
  const score = scoreOf(scan)
  if (score < settings.threshold) return { kind: 'passed', score }
  const reasons = scan.signs.slice(0, REASONS_MAX).map(({ reason }) => reason)
  const failedReason = `${STOPPED}: ${reasons.join('; ')} (score ${score}, threshold ${settings.threshold})`
  return { kind: 'flagged', because: 'score', failedReason }
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
