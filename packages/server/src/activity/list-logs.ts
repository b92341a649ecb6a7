/** getEmailLogs (docs/reference/statuses.md#log-filters): a page of logs, newest first. */
import type { EmailLog, GetEmailLogsQuery } from '@postrider/contract'
import { type Db, readInOrder } from '../platform/db/index.ts'
import { pageTokenAfter, readPage } from '../platform/http/paging.ts'
import { isTestId, timeOfUlid } from '../platform/ids.ts'
import type { RecipientKey } from '../sending/index.ts'
import { type FoundLog, findLogs, type LogBounds } from './find-logs.ts'
import { readLogsQuery } from './read-logs-query.ts'

export interface LogDeps {
  readonly db: Db
  /** Smaller ones, for tests. */
  readonly bounds?: LogBounds
}

const PLACE = /^[0-7][0-9A-HJKMNP-TV-Z]{25}\.\d{1,4}$/

export async function listLogs(
  { db, bounds }: LogDeps,
  tenantId: string,
  query: GetEmailLogsQuery,
): Promise<{ logs: EmailLog[]; nextPageToken?: string }> {
  const page = readPage(query, 'email_logs', PLACE)
  const selection = readLogsQuery(query)
  const below = page.before === undefined ? undefined : readKey(page.before)
  const { logs, next } = await readInOrder(db, (tx) =>
    findLogs(tx, {
      tenantId,
      selection,
      below,
      pageSize: page.limit,
      ...(bounds === undefined ? {} : { bounds }),
    }),
  )
  return {
    logs: logs.map(toLog),
    ...(next === undefined ? {} : { nextPageToken: pageTokenAfter(page, keyText(next)) }),
  }
}

function keyText({ refId, n }: RecipientKey): string {
  return `${refId}.${n}`
}

function readKey(text: string): RecipientKey {
  const [refId = '', n] = text.split('.')
  return { refId, n: Number(n) }
}

/**
 * A log as the API shows it (docs/reference/statuses.md#log-filters): the only place where this capability
 * writes its names.
 */
function toLog({ recipient: r, email, engagement }: FoundLog): EmailLog {
  return {
    ref_id: r.refId,
    email: r.email,
    recipient_type: r.type,
    from: email.from,
    subject: email.subject,
    mailer_id: email.mailerId,
    campaign_id: email.campaignId,
    status: r.status,
    failed_reason: r.failedReason,
    message_id: r.messageId,
    attempts: r.attempts,
    opens: engagement?.opens ?? 0,
    clicks: engagement?.clicks ?? 0,
    created_at: timeOfUlid(r.refId).toISOString(),
    delivered_at: r.deliveredAt?.toISOString() ?? null,
    test: isTestId(email.mailerId),
  }
}
