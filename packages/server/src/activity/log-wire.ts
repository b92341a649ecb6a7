/**
 * A log as the API shows it (docs/reference/statuses.md#log-filters): the only place where this capability
 * writes its names.
 */
import type { EmailLog } from '@postrider/contract'
import { timeOfUlid } from '../platform/ids.ts'
import type { FoundLog } from './find-logs.ts'

export function toLog({ recipient: r, email, engagement }: FoundLog): EmailLog {
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
  }
}
