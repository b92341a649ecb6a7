/** Makes what watches mailboxes; nothing runs before its service starts. */
import { createGate } from '../../platform/gate.ts'
import type { Metrics } from '../../platform/metrics.ts'
import { createLoginLine } from './login-line.ts'
import {
  createMailboxWatchers,
  type MailboxWatchers,
  type MailboxWatchersDeps,
} from './mailbox-watchers.ts'
import { fetchedResults } from './take-mail.ts'
import { loginResults } from './watch-mailbox.ts'

/** Batches that are fetched at once: each holds a few MiB, or one message as large as may be. */
const FETCHES_AT_ONCE = {
  atOnceMax: 6,
  atOncePerCallerMax: 3,
  waitingPerCallerMax: Number.POSITIVE_INFINITY,
} as const

export function createMailboxes(
  deps: Omit<MailboxWatchersDeps, 'line' | 'inTurn' | 'observe' | 'observeLogin' | 'random'> & {
    readonly metrics: Metrics
  },
): MailboxWatchers {
  const { metrics } = deps
  const logins = metrics.counter(
    'mailbox_logins_total',
    'Logins at mailboxes that are watched, by what came of them',
    ['result'],
  )
  for (const result of loginResults) logins.inc({ result }, 0)
  const fetched = metrics.counter(
    'mailbox_messages_total',
    'Messages in mailboxes that were looked at, by what came of it',
    ['result'],
  )
  for (const result of fetchedResults) fetched.inc({ result }, 0)
  const gate = createGate({ ...FETCHES_AT_ONCE, name: 'mailbox-fetches' })
  const watchers = createMailboxWatchers({
    ...deps,
    line: createLoginLine(),
    inTurn: (tenantId, work) => gate.run(tenantId, work),
    random: Math.random,
    observe: (result, count) => fetched.inc({ result }, count),
    observeLogin: (result) => logins.inc({ result }),
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
