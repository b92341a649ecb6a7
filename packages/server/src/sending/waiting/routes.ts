/** retryEmails and cancelEmails (docs/reference/sending.md#many-at-once). */
import {
  bulkChangedMax,
  cancelEmailsAnswer,
  cancelEmailsBody,
  retryEmailsAnswer,
  retryEmailsBody,
} from '@postrider/contract'
import type { FastifyInstance } from 'fastify'
import { addOperation } from '../../platform/http/operation.ts'
import {
  type ChangedWaiting,
  type ChangeWaitingDeps,
  cancelEmails,
  retryEmails,
} from './change-waiting.ts'

const PAGES = `A call changes at most ${bulkChangedMax} recipients, from the newest to older ones, each piece in a transaction of its own. When there may be more, it answers \`nextPageToken\` (with \`matched\` possibly below that, even 0): repeat it with that as \`pageToken\` to go on. A call that was cut off may be made again.`

export function waitingRoutes(app: FastifyInstance, deps: ChangeWaitingDeps): void {
  addOperation(app, 'retryEmails', {
    summary: 'Try waiting emails again now',
    description: `Makes the next attempt of recipients due now who wait after a failed attempt. \`attempt\` and \`max_attempts\` stay as they are. Recipients whose \`send_at\` is ahead are left alone, and so is an attempt that is under way. The mailer's limits hold as ever; mail of an inactive mailer goes out once the mailer is active. Retried mail goes after other mail of its mailer, as a campaign's does.

${PAGES}`,
    tag: 'Email',
    body: retryEmailsBody,
    answer: retryEmailsAnswer,
    scopes: ['send'],
    isForSupport: true,
    errors: ['rate_limited'],
    async handle({ tenant, body }) {
      const result = await retryEmails(deps, tenant.tenantId, body)
      return { message: messageOf('Retried', body.dry_run, result), ...result }
    },
  })
  addOperation(app, 'cancelEmails', {
    summary: 'Cancel waiting emails',
    description: `Recipients who wait are not sent to any more: for their first attempt, for another one, for their \`send_at\`, or for their mailer. Their status becomes \`rejected\`, without an event. An attempt that is under way is left alone; if it fails and another one would follow, cancel once more.

${PAGES}`,
    tag: 'Email',
    body: cancelEmailsBody,
    answer: cancelEmailsAnswer,
    scopes: ['send'],
    errors: ['rate_limited'],
    async handle({ tenant, body }) {
      const result = await cancelEmails(deps, tenant.tenantId, body)
      return { message: messageOf('Cancelled', body.dry_run, result), ...result }
    },
  })
}

function messageOf(
  done: 'Retried' | 'Cancelled',
  isDry: boolean | undefined,
  { matched, changed }: ChangedWaiting,
): string {
  if (changed > 0) return `Emails ${done}`
  return isDry === true && matched > 0 ? `Emails Matched, None ${done} Yet` : `Nothing Was ${done}`
}
