/** rescueEmails (docs/reference/sending.md#rescue). */
import {
  bulkChangedMax,
  type RescueEmailsBody,
  rescueEmailsAnswer,
  rescueEmailsBody,
} from '@postrider/contract'
import type { FastifyInstance } from 'fastify'
import { addOperation } from '../../platform/http/operation.ts'
import { type RescueDeps, type Rescued, rescueEmails } from './rescue-emails.ts'

export function rescueRoutes(app: FastifyInstance, deps: RescueDeps): void {
  addOperation(app, 'rescueEmails', {
    summary: 'Send failed emails once more',
    description: `Queues recipients again whose last attempt was final, or whom a relay provider reported as failed after it accepted their mail. Attempt numbers go on, \`max_attempts\` grows by what the email asked for, and the time to expire begins anew. The new series of attempts has its own terminal event. Emails whose content was removed, or is about to be (\`POSTRIDER_CONTENT_RETENTION\`), are not matched. Where nothing else is matched and \`ref_ids\` name such an email, the answer is 410 \`content_removed\`.

A call goes from the newest failure to older ones and rescues at most ${bulkChangedMax} recipients, each once. When there may be more, it answers \`nextPageToken\` (with \`matched\` possibly below that, even 0): repeat it with that as \`pageToken\` to go on. Repeated without it, it begins with the newest again, and rescues once more what has failed again meanwhile.

A recipient whose last attempt ended uncertainly may get the mail twice.`,
    tag: 'Email',
    body: rescueEmailsBody,
    answer: rescueEmailsAnswer,
    scopes: ['send'],
    isForSupport: true,
    errors: [
      'no_mailer',
      'mailer_inactive',
      'tenant_suspended',
      'quota_exceeded',
      'rate_limited',
      'content_removed',
    ],
    async handle({ tenant, body }) {
      const rescued = await rescueEmails(deps, tenant.tenantId, body)
      return { message: messageOf(body, rescued), ...rescued }
    },
  })
}

function messageOf({ dry_run: isDry }: RescueEmailsBody, { matched, rescued }: Rescued): string {
  if (rescued > 0) return 'Emails Rescued'
  return isDry === true && matched > 0 ? 'Emails Matched, None Rescued Yet' : 'Nothing Was Rescued'
}
