/**
 * cancelScheduledEmail (docs/reference/sending.md#scheduling): what has not been attempted is not sent any
 * more. Its status is `rejected`, and there is no event.
 */
import { setTimeout } from 'node:timers/promises'
import { addCounterChanges } from '../../platform/counters/counter-store.ts'
import type { Db } from '../../platform/db/index.ts'
import { ApiError } from '../../platform/errors.ts'
import { dayOfUlid, isTestId, isUlid } from '../../platform/ids.ts'
import { setStatuses } from '../attempt/attempt-store.ts'
import { groupsOfRecipient } from '../record/counter-groups.ts'
import { readEmail } from '../record/email-store.ts'
import { readTime } from './accept-store.ts'
import {
  dropUnattempted,
  isAnyLeft,
  type RecipientState,
  selectRecipients,
} from './schedule-store.ts'

export interface CancelledEmail {
  /** How many recipients were taken back now. */
  readonly cancelled: number
  readonly recipients: RecipientState[]
}

const REJECTED = { status: 'rejected', attempt: 0, failedReason: '', messageId: '' }
const ROUNDS_MAX = 10
/** Claims and finishes hold a row for as long as their commit takes. */
const ROUND_WAIT_MS = 20

/** Throws `not_found`: for a key of test mode there is test mail alone. Repeated, it takes back nothing more. */
export async function cancelEmail(
  db: Db,
  tenantId: string,
  refId: string,
  isForTests = false,
): Promise<CancelledEmail> {
  if (!isUlid(refId)) throw new ApiError('not_found')
  if (isForTests) {
    const email = await readEmail(db, tenantId, { refId, day: dayOfUlid(refId) })
    if (email === undefined || !isTestId(email.mailerId)) throw new ApiError('not_found')
  }
  let cancelled = 0
  for (let i = 0; i < ROUNDS_MAX; i++) {
    if (i > 0) await setTimeout(ROUND_WAIT_MS)
    cancelled += await cancelOnce(db, tenantId, refId)
    if (!(await isAnyLeft(db, tenantId, refId))) break
  }
  const recipients = await selectRecipients(db, tenantId, refId)
  if (recipients.length === 0) throw new ApiError('not_found')
  return { cancelled, recipients }
}

function cancelOnce(db: Db, tenantId: string, refId: string): Promise<number> {
  const day = dayOfUlid(refId)
  return db.transaction(async (tx) => {
    const dropped = await dropUnattempted(tx, tenantId, refId)
    if (dropped.length === 0) return 0
    const [email, recipients, at] = await Promise.all([
      readEmail(tx, tenantId, { refId, day }),
      selectRecipients(tx, tenantId, refId),
      readTime(tx),
      setStatuses(
        tx,
        dropped.map((n) => ({ tenantId, refId, n, day, ...REJECTED })),
      ),
    ])
    const { mailerId: subject = '', campaignId = null } = email ?? {}
    await addCounterChanges(
      tx,
      dropped.map((n) => {
        const groups = groupsOfRecipient(recipients[n]?.email ?? '', campaignId)
        return { tenantId, subject, name: REJECTED.status, at, n: 1, groups }
      }),
    )
    return dropped.length
  })
}
