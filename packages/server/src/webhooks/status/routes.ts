/** The operations on one webhook: where it stands, pause and resume, and test events. */
import {
  getWebhookStatusAnswer,
  pauseWebhookAnswer,
  resumeWebhookAnswer,
  rotateSigningSecretAnswer,
  sendTestEventAnswer,
  sendTestEventBody,
  signingSecretsMax,
  webhookBacklogMax,
  webhookParams,
  webhookTestsMax,
} from '@postrider/contract'
import type { ConcurrencyLimiter } from '@postrider/runtime/concurrency-limiter'
import type { FastifyInstance } from 'fastify'
import type { Db } from '../../platform/db/index.ts'
import { addOperation } from '../../platform/http/operation.ts'
import type { RateLimit } from '../../platform/limits/rate-limit.ts'
import type { Wakeups } from '../dispatch/schedule/wakeups.ts'
import { type RotateDeps, rotateSigningSecret } from '../subscriptions/rotate-secret.ts'
import { sendTestEvent, type TestEventDeps } from './send-test-event.ts'
import { getWebhookStatus, pauseWebhook, resumeWebhook } from './webhook-status.ts'

export interface StatusRoutesDeps extends TestEventDeps, RotateDeps {
  readonly db: Db
  readonly wakeups: Pick<Wakeups, 'wake'>
  /** Of calls that make a webhook be tried at once: replays count among them. */
  readonly replayLimit: RateLimit
  readonly limiters: { readonly record: ConcurrencyLimiter }
}

export function statusRoutes(app: FastifyInstance, deps: StatusRoutesDeps): void {
  const { record } = deps.limiters
  const common = {
    tag: 'Webhooks',
    params: webhookParams,
    errors: ['webhook_not_found', 'rate_limited'],
  } as const
  addOperation(app, 'getWebhookStatus', {
    ...common,
    summary: 'Get where a webhook stands, and what waits for it',
    description: `Of any webhook of yours, also that of a mailbox or an inbound domain. The times are those of requests of the last hour, as far as the account's newest 2,000 deliveries tell. Waiting events are counted up to ${webhookBacklogMax}.`,
    answer: getWebhookStatusAnswer,
    scopes: ['webhooks', 'read'],
    async handle({ tenant: { tenantId }, params: { webhook_id: webhookId } }) {
      const status = await record.run(tenantId, () =>
        getWebhookStatus(deps, { tenantId, webhookId }),
      )
      return { message: 'Webhook Status', status }
    },
  })

  addOperation(app, 'pauseWebhook', {
    ...common,
    summary: 'Send nothing to a webhook for now, and keep its events',
    description:
      'A request under way still ends, then nothing is sent. Events wait in their order until the webhook is resumed, as long as the record keeps them. With `active: false` in updateWebhook they would be recorded alone. Repeating it changes nothing.',
    answer: pauseWebhookAnswer,
    scopes: ['webhooks'],
    async handle({ tenant: { tenantId }, params: { webhook_id: webhookId } }) {
      const status = await record.run(tenantId, () => pauseWebhook(deps, { tenantId, webhookId }))
      return { message: 'Webhook Paused', status }
    },
  })

  addOperation(app, 'resumeWebhook', {
    ...common,
    summary: 'Send what waited for a paused webhook, in order',
    description:
      'What failed before is tried at once, without its back-off, and so are parked events. The time of the pause counts for no delivery. Calls count among replays: at most 60 a minute.',
    answer: resumeWebhookAnswer,
    scopes: ['webhooks'],
    async handle({ tenant: { tenantId }, params: { webhook_id: webhookId } }) {
      await deps.replayLimit.use(tenantId)
      const status = await record.run(tenantId, () => resumeWebhook(deps, { tenantId, webhookId }))
      return { message: 'Webhook Resumed', status }
    },
  })

  addOperation(app, 'rotateSigningSecret', {
    ...common,
    summary: 'Replace the signing secret of a webhook',
    description: `Of any signed webhook of yours, also that of a mailbox or an inbound domain. The new secret signs every request that starts from now on. The one before signs beside it for 24 hours: \`webhook-signature\` then has several signatures with a space between, of which one has to fit. At most ${signingSecretsMax} secrets sign at once: beyond that, and for a webhook that is not signed, the answer is 409.`,
    answer: rotateSigningSecretAnswer,
    scopes: ['webhooks'],
    errors: ['webhook_not_found', 'conflict'],
    async handle({ tenant: { tenantId }, params: { webhook_id: webhookId } }) {
      const made = await rotateSigningSecret(deps, { tenantId, webhookId })
      return {
        message: 'Signing Secret Replaced',
        signing_secret: made.signingSecret,
        former_until: made.formerUntil.toISOString(),
      }
    },
  })

  addOperation(app, 'sendTestEvent', {
    ...common,
    summary: 'Send a made-up event to a webhook, and get what its receiver answers',
    description: `One request with the webhook's own headers, under the rules of any other. The event has \`test: true\` in \`details\`. It is in no log and in no delivery, it is not repeated, and what waits goes on beside it. It is sent whatever the event switches say, also to a webhook that is paused or inactive. A receiver that refuses it, or does not answer, is no error of this call: see \`accepted\`. At most ${webhookTestsMax} a minute.`,
    body: sendTestEventBody,
    answer: sendTestEventAnswer,
    scopes: ['webhooks'],
    errors: [...common.errors, 'conflict'],
    async handle({ tenant: { tenantId }, params, body: { event }, traceparent }) {
      const key = { tenantId, webhookId: params.webhook_id }
      const test = await sendTestEvent(deps, key, { event, traceparent })
      return { message: test.accepted ? 'Test Event Accepted' : 'Test Event Not Accepted', test }
    },
  })
}
