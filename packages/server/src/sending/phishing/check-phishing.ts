/** The check of an email before an attempt contacts any server. */
import type { PhishingScanner, ScannedContent } from '@postrider/mail'
import type { Logger } from '../../platform/log.ts'
import type { Claim } from '../attempt/attempt.ts'
import type { ScanOnce } from '../attempt/scan-once.ts'
import { decidePhishing } from './decide-phishing.ts'
import type { FreshSettings } from './fresh-settings.ts'

export type PhishingVerdict =
  | { readonly kind: 'passed' }
  | { readonly kind: 'flagged'; readonly failedReason: string }
  /** Nothing can be found out at the moment, which is not the content's doing. */
  | { readonly kind: 'unknown' }

export interface PhishingCheck {
  /** Rejects as the database does. */
  check(claim: Pick<Claim, 'tenantId' | 'refId' | 'n'>, toScan: ScanOnce): Promise<PhishingVerdict>
}

/** Of one recipient's check. */
export const phishingOutcomes = [
  'off',
  'passed',
  'blocked_domain',
  'score',
  'too_much',
  'unknown',
] as const
export type PhishingOutcome = (typeof phishingOutcomes)[number]

export function createPhishingCheck(deps: {
  readonly settings: FreshSettings
  readonly scanner: Pick<PhishingScanner, 'scan'>
  readonly log: Logger
  readonly observe: (outcome: PhishingOutcome) => void
}): PhishingCheck {
  const { log, observe, scanner, settings } = deps
  return {
    async check({ tenantId, refId, n }, toScan) {
      const set = await settings.of(tenantId)
      if (!set.isEnabled) {
        observe('off')
        return { kind: 'passed' }
      }
      const scan = (content: ScannedContent) => scanner.scan(tenantId, content)
      const result = await toScan.result(scan).catch((error: unknown) => {
        log.warn({ err: error, tenant_id: tenantId, ref_id: refId, n }, 'phishing_scan.failed')
        return undefined
      })
      if (result === undefined) {
        observe('unknown')
        return { kind: 'unknown' }
      }
      const decision = decidePhishing(result, set)
      observe(decision.kind === 'passed' ? 'passed' : decision.because)
      if (decision.kind === 'passed') return { kind: 'passed' }
      const { because, failedReason } = decision
      log.info({ tenant_id: tenantId, ref_id: refId, n, because }, 'phishing.found')
      return { kind: 'flagged', failedReason }
    },
  }
}
