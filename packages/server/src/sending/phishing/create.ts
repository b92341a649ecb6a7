/** Makes the check for phishing before each attempt, with Rspamd's opinion where it is configured. */
import {
  createPhishingScanner,
  createRspamd,
  rspamdOutcomes,
  withSecondOpinion,
} from '@postrider/mail'
import { closer, type Service } from '@postrider/runtime/service'
import type { ThreadJobsObserver } from '@postrider/runtime/thread-observer'
import type { Db } from '../../platform/db/index.ts'
import { createEgress, EgressError } from '../../platform/egress/index.ts'
import type { Logger } from '../../platform/log.ts'
import type { Metrics } from '../../platform/metrics.ts'
import type { Descriptors } from '../../platform/process/descriptors.ts'
import { createPhishingCheck, type PhishingCheck, phishingOutcomes } from './check-phishing.ts'
import { createFreshSettings } from './fresh-settings.ts'

export interface PhishingDeps {
  readonly db: Db
  readonly log: Logger
  readonly metrics: Metrics
  readonly descriptors: Descriptors
  readonly threadJobs: ThreadJobsObserver
  readonly config: {
    readonly rspamdUrl: string | undefined
    readonly dnsServers: readonly string[] | undefined
  }
}

/** Nothing runs before its services start. */
export function createPhishing(deps: PhishingDeps): {
  readonly check: PhishingCheck
  readonly services: readonly Service[]
} {
  const { db, log, metrics } = deps
  const checks = metrics.counterOf(
    'phishing_checks_total',
    'Recipients whose email was checked for phishing before an attempt, by what came of it',
    'outcome',
    phishingOutcomes,
  )
  const scanner = createPhishingScanner({ observer: deps.threadJobs })
  const second = createSecondOpinion(deps)
  const check = createPhishingCheck({
    scanner: second === undefined ? scanner : withSecondOpinion(scanner, second.rspamd),
    settings: createFreshSettings({ db, monotonicMs: () => performance.now() }),
    log,
    observe: checks,
  })
  return { check, services: second === undefined ? [scanner] : [second.egress, scanner] }
}

/** The operator's own service: wherever it is, it may be reached. */
function createSecondOpinion({ config, descriptors, log, metrics }: PhishingDeps) {
  const { rspamdUrl: url } = config
  if (url === undefined) return undefined
  const egress = createEgress({
    allowNetworks: ['0.0.0.0/0', '::/0'],
    dnsServers: config.dnsServers,
    descriptors,
  })
  const requests = metrics.counterOf(
    'rspamd_checks_total',
    'Emails on which Rspamd was to be asked, by what came of it',
    'outcome',
    rspamdOutcomes,
  )
  const rspamd = createRspamd({
    request: egress.request,
    isBusy: (error) => error instanceof EgressError && error.code === 'busy',
    url,
    log,
    observe: requests,
    monotonicMs: () => performance.now(),
  })
  return { rspamd, egress: closer('rspamd', () => egress.close()) }
}
