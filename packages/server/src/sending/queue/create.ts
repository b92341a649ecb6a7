/** Makes what the role `sender` is made of, as long as sending is not paused. */

import type { Service } from '@postrider/runtime/service'
import {
  type AccessTokens,
  createRelaySends,
  createSmtpPool,
  type NoteDeactivated,
} from '../../mailers/index.ts'
import type { Clock } from '../../platform/clock.ts'
import type { BucketLeases } from '../../platform/db/index.ts'
import type { Egress } from '../../platform/egress/index.ts'
import type { Failpoints } from '../../platform/failpoints.ts'
import type { KeyRing } from '../../platform/secrets/index.ts'
import type { Tracing } from '../../platform/tracing/span.ts'
import type { Relays } from '../../relays/index.ts'
import type { Wakeups } from '../../webhooks/index.ts'
import type { AcceptedMail } from '../accept/accepted-mail.ts'
import { createPhishing, type PhishingDeps } from '../phishing/create.ts'
import { createFinishAttempts } from '../results/finish-attempts.ts'
import type { TrackingUrls } from '../tracking/tracking-urls.ts'
import type { QueueWakeups } from './queue-wakeups.ts'
import { createSender } from './worker.ts'

export interface SendQueueDeps extends PhishingDeps {
  readonly clock: Clock
  readonly keyRing: KeyRing
  readonly egress: Egress
  readonly failpoints: Failpoints
  readonly leases: BucketLeases
  /** Of webhooks. */
  readonly wakeups: Wakeups
  readonly accessTokens: AccessTokens
  readonly noteDeactivated: NoteDeactivated
  readonly relays: Relays
  readonly trackingUrls: TrackingUrls
  /** By which this service greets. */
  readonly ehloName: string
  readonly tracing?: Tracing | undefined
  readonly config: PhishingDeps['config'] & {
    readonly authConfirmDelayMs: number
    readonly senderConcurrency: number
    readonly sendLeaseMs: number
    readonly sendRetrySchedule: readonly number[]
    readonly sendTimeoutMs: number
  }
}

const ATTEMPTED = ['accepted', 'deferred', 'failed', 'uncertain', 'blocked'] as const

/** Nothing runs before its services start. */
export function createSendQueue(
  deps: SendQueueDeps,
  queueWakeups: QueueWakeups,
  acceptedMail: AcceptedMail,
): Service[] {
  const { config, leases, metrics } = deps
  // So that an attempt has the time for a second try.
  const authConfirmDelayMs = Math.min(config.authConfirmDelayMs, config.sendTimeoutMs / 2)
  const pool = createSmtpPool({ ...deps, authConfirmDelayMs })
  const attempts = metrics.histogram('send_attempt_duration_seconds', 'Attempts to send', [
    'outcome',
  ])
  for (const outcome of ATTEMPTED) attempts.zero({ outcome })
  const phishing = createPhishing(deps)
  const sender = createSender({
    ...deps,
    acceptedMail,
    phishing: phishing.check,
    pool,
    relaySends: createRelaySends({ relays: deps.relays, authConfirmDelayMs }),
    wakeups: queueWakeups,
    finishes: createFinishAttempts(deps),
    leaseMs: config.sendLeaseMs,
    timeoutMs: config.sendTimeoutMs,
    authConfirmDelayMs,
    retryScheduleMs: config.sendRetrySchedule,
    concurrency: config.senderConcurrency,
    observe: ({ outcome, durationMs }) => attempts.observe({ outcome }, durationMs / 1000),
  })
  metrics.gaugeOf(
    'sender_mailers',
    'Mailers that this process serves otherwise than at full speed now',
    'state',
    () => ({ ...sender.counts() }),
  )
  return [leases, pool, ...phishing.services, sender]
}
