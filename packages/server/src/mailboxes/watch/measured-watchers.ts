/** Makes what watches mailboxes, with its metrics; nothing runs before its service starts. */

import { createConcurrencyLimiter } from '@postrider/runtime/concurrency-limiter'
import type { Metrics } from '../../platform/metrics.ts'
import { type FetchMailDeps, fetchedResults } from '../fetch/fetch-mail.ts'
import { createLoginLimiter } from './login-limiter.ts'
import {
  createMailboxWatchers,
  type MailboxWatchers,
  type MailboxWatchersDeps,
} from './mailbox-watchers.ts'
import { loginResults } from './watch-mailbox.ts'

export function createMeasuredWatchers(
  deps: Omit<
    MailboxWatchersDeps,
    'loginLimiter' | 'inTurn' | 'observe' | 'observeLogin' | 'random'
  > & {
    readonly metrics: Metrics
  },
): MailboxWatchers {
  const { metrics } = deps
  const logins = metrics.counterOf(
    'mailbox_logins_total',
    'Logins at mailboxes that are watched, by what came of them',
    'result',
    loginResults,
  )
  const fetched = metrics.counterOf(
    'mailbox_messages_total',
    'Messages in mailboxes that were looked at, by what came of it',
    'result',
    fetchedResults,
  )
  const watchers = createMailboxWatchers({
    ...deps,
    loginLimiter: createLoginLimiter(),
    inTurn: createFetchTurns(),
    random: Math.random,
    observe: fetched,
    observeLogin: logins,
  })
  metrics.gaugeOf(
    'mailboxes',
    'Mailboxes that this process watches, by their state',
    'state',
    () => ({
      ...watchers.counts(),
    }),
  )
  return watchers
}

const AT_ONCE = { atOnceMax: 6, atOncePerCallerMax: 3 } as const
const SLOW_AT_ONCE = { atOnceMax: 2, atOncePerCallerMax: 1 } as const

/**
 * Batches that are fetched at once: each holds a few MiB, or one message of the largest size. Turns are
 * short. A server that has outlasted one takes its next turn among the slow ones, so that it delays
 * nobody else.
 */
export function createFetchTurns(): FetchMailDeps['inTurn'] {
  const waitingPerCallerMax = Number.POSITIVE_INFINITY
  const quick = createConcurrencyLimiter({
    ...AT_ONCE,
    waitingPerCallerMax,
    name: 'mailbox-fetches',
  })
  const slow = createConcurrencyLimiter({
    ...SLOW_AT_ONCE,
    waitingPerCallerMax,
    name: 'slow-mailbox-fetches',
  })
  return ({ tenantId, isSlow }, work) => (isSlow ? slow : quick).run(tenantId, work)
}
