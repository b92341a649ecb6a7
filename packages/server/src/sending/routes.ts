/** sendEmail and what can be done about an accepted one (docs/reference/sending.md#accepting). */
import {
  cancelScheduledEmailAnswer,
  emailParams,
  sendEmailAnswer,
  sendEmailBody,
} from '@postrider/contract'
import type { FastifyInstance } from 'fastify'
import { addOperation } from '../platform/http/operation.ts'
import { cancelEmail } from './accept/cancel-email.ts'
import { hashBody, keyOfMode, readIdempotencyKey } from './accept/idempotency.ts'
import {
  checkSend,
  listRecipients,
  noteLeftOut,
  readyEmail,
  wokenBy,
} from './accept/ready-email.ts'
import { messageAttributes } from './message-attributes.ts'
import { createOwnBudget } from './own-data/render-own-data.ts'
import { BODY_BYTES_MAX, type SendRouteDeps, sendErrors } from './send-route-deps.ts'

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
    errors: sendErrors,
    isForTests: true,
    refuseEarly: ({ tenantId, mode }) => deps.emails.refuseEarly(tenantId, mode === 'test'),
    async handle({ tenant, body, traceparent, request, reply }) {
      const key = readIdempotencyKey(request.headers['idempotency-key'])
      const { tenantId } = tenant
      const isTest = tenant.mode === 'test'
      const { tracing } = deps
      if (tracing !== undefined) request.spanAttributes = messageAttributes({ tenantId })
      const checked = await checkSend(deps, tenantId, body)
      const ofMode = key && keyOfMode(key, isTest)
      const accepted = await deps.keysInProgress.run(tenantId, ofMode, async () => {
        const { email, leftOut } = await readyEmail(deps, tenantId, checked, createOwnBudget())
        const idempotency =
          key === undefined ? {} : { idempotency: { key, bodyHash: await hashBody(body) } }
        const request = { tenantId, email, traceparent, isTest, ...idempotency }
        const stored = await deps.emails.accept(request)
        noteLeftOut(deps.log, tenantId, { accepted: stored, leftOut })
        return stored
      })
      if (tracing !== undefined)
        request.spanAttributes = messageAttributes({ tenantId, refId: accepted.refId })
      if (accepted.isReplay) reply.header('Idempotent-Replayed', 'true')
      deps.wakeups.wake(wokenBy(tenantId, checked.email, accepted))
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
    isForTests: true,
    async handle({ tenant, params }) {
      const { tenantId, mode } = tenant
      const { ref_id: refId } = params
      const { cancelled, recipients } = await cancelEmail(deps.db, tenantId, refId, mode === 'test')
      const message = cancelled > 0 ? 'Email Cancelled' : 'Nothing Was Left To Cancel'
      return { success: true, message, ref_id: params.ref_id, cancelled, recipients }
    },
  })
}
