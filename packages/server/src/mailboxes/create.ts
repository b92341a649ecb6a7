/** Makes mailboxes: their health for every role, what watches them, and what stores sent copies. */
import type { AccessTokens, NoteDeactivated } from '../mailers/index.ts'
import type { Clock } from '../platform/clock.ts'
import {
  type BucketLeases,
  bucketOf,
  createWakeups,
  type Db,
  type Others,
} from '../platform/db/index.ts'
import type { Egress } from '../platform/egress/index.ts'
import type { Failpoints } from '../platform/failpoints.ts'
import type { Logger } from '../platform/log.ts'
import type { Metrics } from '../platform/metrics.ts'
import type { Descriptors } from '../platform/process/descriptors.ts'
import type { KeyRing } from '../platform/secrets/index.ts'
import type { Wakeups } from '../webhooks/index.ts'
import {
  createSentCopyWorker,
  type SentCopyDeps,
  type SentCopyWorker,
} from './sent-copies/serve-copies.ts'
import { sentCopyOutcomes } from './sent-copies/settle-copy.ts'
import { createMailboxJanitor } from './watch/janitor.ts'
import type { MailboxWatchersDeps, WokenMailbox } from './watch/mailbox-watchers.ts'
import { createMeasuredWatchers } from './watch/measured-watchers.ts'
import { readMailboxHealth } from './watch/read-health.ts'

export interface MailboxesDeps extends Pick<MailboxWatchersDeps, 'onImapBound' | 'onStored'> {
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
  readonly keyRing: KeyRing
  readonly egress: Egress
  readonly descriptors: Descriptors
  readonly failpoints: Failpoints
  readonly leases: BucketLeases
  /** The other processes with the role `mailbox`. */
  readonly others: Others
  /** Of webhooks. */
  readonly wakeups: Wakeups
  readonly accessTokens: AccessTokens
  readonly noteDeactivated: NoteDeactivated
  /** Whether this process watches mailboxes. */
  readonly isWatching: boolean
  readonly config: {
    readonly authConfirmDelayMs: number
    readonly imapErrorRepeatMs: number
    readonly inboundBytesMax: number
    readonly retentionMs: number
  }
}

/** Nothing runs before its services start. */
export function createMailboxes(deps: MailboxesDeps) {
  const { db, log } = deps
  const { retentionMs } = deps.config
  const mailboxWakeups = createWakeups<WokenMailbox>(deps.others)
  return {
    readHealth: readMailboxHealth,
    /** After a change of a mailer. */
    wakeMailer({ tenantId, mailerId }: { readonly tenantId: string; readonly mailerId: string }) {
      mailboxWakeups.wake([{ tenantId, mailerId, bucket: bucketOf(mailerId) }])
    },
    services: deps.isWatching ? createWatch({ ...deps, mailboxWakeups }) : [],
    janitor: createMailboxJanitor({ db, log, retentionMs }),
  }
}

function createWatch(deps: MailboxesDeps & Pick<MailboxWatchersDeps, 'mailboxWakeups'>) {
  const { config, leases } = deps
  const watchers = createMeasuredWatchers({
    ...deps,
    authConfirmDelayMs: config.authConfirmDelayMs,
    errorRepeatMs: config.imapErrorRepeatMs,
    messageBytesMax: config.inboundBytesMax,
    retentionMs: config.retentionMs,
  })
  return [leases, watchers, createSentCopies(deps)]
}

/** Makes what keeps copies of sent mail, and counts them. */
function createSentCopies(
  deps: Omit<SentCopyDeps, 'observe'> & { readonly metrics: Metrics },
): SentCopyWorker {
  const { metrics } = deps
  const copies = metrics.counterOf(
    'sent_copies_total',
    'Copies of sent mail for the Sent folders of mailboxes, by what came of them',
    'outcome',
    sentCopyOutcomes,
  )
  return createSentCopyWorker({
    ...deps,
    observe: copies,
  })
}
