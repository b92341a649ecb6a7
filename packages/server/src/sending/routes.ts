/** sendEmail (interface §4.3; contract §2, §3.1). */
import {
  recipientTypes,
  type SendEmailBody,
  sendEmailAnswer,
  sendEmailBody,
} from '@postrider/contract'
import type { FastifyInstance } from 'fastify'
import { bucketOf } from '../platform/db/leases.ts'
import { addOperation } from '../platform/http/operation.ts'
import type { AcceptEmails } from './accept-email.ts'
import { checkEmail, type SendDefaults } from './check-email.ts'
import { hashBody, type KeysInProgress, readIdempotencyKey } from './idempotency.ts'
import type { LaneWakeups } from './lane-wakeups.ts'

export interface SendRouteDeps {
  readonly emails: AcceptEmails
  readonly keysInProgress: KeysInProgress
  readonly wakeups: LaneWakeups
  readonly defaults: SendDefaults
}

const BODY_BYTES_MAX = 40 * 1024 * 1024

export function sendRoutes(app: FastifyInstance, deps: SendRouteDeps): void {
  addOperation(app, 'sendEmail', {
    summary: 'Send an email',
    tag: 'Email',
    body: sendEmailBody,
    answer: sendEmailAnswer,
    scopes: ['send'],
    bodyBytesMax: BODY_BYTES_MAX,
    errors: [
      'duplicate_recipient',
      'no_mailer',
      'mailer_inactive',
      'idempotency_mismatch',
      'idempotency_in_progress',
    ],
    async handle({ tenant, body, traceparent, request, reply }) {
      const key = readIdempotencyKey(request.headers['idempotency-key'])
      const email = checkEmail(body, deps.defaults)
      const { tenantId } = tenant
      const accepted = await deps.keysInProgress.run(tenantId, key, () =>
        deps.emails.accept({
          tenantId,
          email,
          traceparent,
          ...(key === undefined ? {} : { idempotency: { key, bodyHash: hashBody(body) } }),
        }),
      )
      if (accepted.isReplay) reply.header('Idempotent-Replayed', 'true')
      else wake(deps, tenantId, accepted.mailerId)
      return {
        success: true as const,
        message: 'Email Accepted',
        ref_id: accepted.refId,
        recipients: listRecipients(body),
      }
    },
  })
}

function wake({ wakeups }: SendRouteDeps, tenantId: string, mailerId: string): void {
  wakeups.wake([{ tenantId, mailerId, bucket: bucketOf(mailerId) }])
}

function listRecipients(body: SendEmailBody) {
  return recipientTypes.flatMap((type) =>
    (body[type] ?? []).map(({ email }) => ({ email, type, status: 'queued' as const })),
  )
}
