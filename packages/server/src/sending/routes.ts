/** sendEmail and what can be done about an accepted one (docs/reference/sending.md#accepting). */
import {
  cancelScheduledEmailAnswer,
  emailParams,
  recipientTypes,
  type SendEmailBody,
  sendEmailAnswer,
  sendEmailBody,
} from '@postrider/contract'
import type { LinkFinder, TemplateRenderer } from '@postrider/mail'
import type { FastifyInstance } from 'fastify'
import type { Db } from '../platform/db/index.ts'
import { bucketOf } from '../platform/db/leases.ts'
import { addOperation } from '../platform/http/operation.ts'
import type { Logger } from '../platform/log.ts'
import type { Tracing } from '../platform/tracing/span.ts'
import type { AcceptEmails, Accepted } from './accept/accept-email.ts'
import { cancelEmail } from './accept/cancel-email.ts'
import { checkEmail, type SendDefaults } from './accept/check-email.ts'
import { hashBody, type KeysInProgress, readIdempotencyKey } from './accept/idempotency.ts'
import { renderEmail } from './accept/render-email.ts'
import { withoutLineEnds } from './accept/without-line-ends.ts'
import { messageAttributes } from './message-attributes.ts'
import type { QueueWakeups } from './queue/queue-wakeups.ts'
import { isBulk } from './record/email.ts'
import { planTracking } from './tracking/plan-tracking.ts'

export interface SendRouteDeps {
  readonly db: Db
  readonly emails: AcceptEmails
  readonly templates: TemplateRenderer
  readonly links: Pick<LinkFinder, 'find'>
  readonly log: Logger
  readonly keysInProgress: KeysInProgress
  readonly wakeups: QueueWakeups
  readonly defaults: SendDefaults
  readonly tracing?: Tracing | undefined
}

const BODY_BYTES_MAX = 40 * 1024 * 1024

export function sendRoutes(app: FastifyInstance, deps: SendRouteDeps): void {
  addOperation(app, 'sendEmail', {
    summary: 'Send an email',
    tag: 'Email',
    body: sendEmailBody,
    answer: sendEmailAnswer,
    scopes: ['send'],
    requestHeaders: ['Idempotency-Key'],
    answerHeaders: ['Idempotent-Replayed'],
    bodyBytesMax: BODY_BYTES_MAX,
    errors: [
      'duplicate_recipient',
      'no_mailer',
      'mailer_inactive',
      'tenant_suspended',
      'quota_exceeded',
      'idempotency_mismatch',
      'idempotency_in_progress',
      'rate_limited',
    ],
    refuseEarly: ({ tenantId }) => deps.emails.refuseEarly(tenantId),
    async handle({ tenant, body, traceparent, request, reply }) {
      const key = readIdempotencyKey(request.headers['idempotency-key'])
      const { tenantId } = tenant
      const { tracing } = deps
      if (tracing !== undefined) request.spanAttributes = messageAttributes({ tenantId })
      const checked = checkEmail(await withoutLineEnds(body), deps.defaults)
      const accepted = await deps.keysInProgress.run(tenantId, key, async () => {
        const rendered = await renderEmail(deps.templates, tenantId, checked, body.template_data)
        const { email, leftOut } = await planTracking(deps.links, tenantId, rendered)
        const idempotency =
          key === undefined ? {} : { idempotency: { key, bodyHash: await hashBody(body) } }
        const stored = await deps.emails.accept({ tenantId, email, traceparent, ...idempotency })
        if (leftOut !== undefined && !stored.isReplay)
          deps.log.warn(
            { tenant_id: tenantId, ref_id: stored.refId, left_out: leftOut },
            'email.untracked',
          )
        return stored
      })
      if (tracing !== undefined)
        request.spanAttributes = messageAttributes({ tenantId, refId: accepted.refId })
      if (accepted.isReplay) reply.header('Idempotent-Replayed', 'true')
      else if (!accepted.isScheduled)
        deps.wakeups.wake([
          {
            tenantId,
            mailerId: accepted.mailerId,
            bucket: bucketOf(accepted.mailerId),
            isBulk: isBulk(checked),
          },
        ])
      return {
        success: true as const,
        message: 'Email Accepted',
        ref_id: accepted.refId,
        recipients: listRecipients(body, accepted),
      }
    },
  })
  addOperation(app, 'cancelScheduledEmail', {
    summary: 'Cancel an email that was not attempted yet',
    description:
      'Takes back each recipient that has had no attempt: its status becomes `rejected`, without an event. An attempt under way is stopped where its server does not have the whole message yet. May be repeated.',
    tag: 'Email',
    params: emailParams,
    answer: cancelScheduledEmailAnswer,
    scopes: ['send'],
    async handle({ tenant, params }) {
      const { cancelled, recipients } = await cancelEmail(deps.db, tenant.tenantId, params.ref_id)
      const message = cancelled > 0 ? 'Email Cancelled' : 'Nothing Was Left To Cancel'
      return { success: true, message, ref_id: params.ref_id, cancelled, recipients }
    },
  })
}

/** In the order in which they were checked and stored. */
function listRecipients(body: SendEmailBody, { isScheduled, suppressed }: Accepted) {
  const refused = new Set(suppressed)
  const status = isScheduled ? 'scheduled' : 'queued'
  return recipientTypes
    .flatMap((type) => (body[type] ?? []).map(({ email }) => ({ email, type })))
    .map((one, n) => ({ ...one, status: refused.has(n) ? 'suppressed' : status }) as const)
}
