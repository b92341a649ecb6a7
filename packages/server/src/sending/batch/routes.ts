/** sendBatch (docs/reference/sending.md#batches). */
import { batchMessagesMax, sendBatchAnswer, sendBatchBody } from '@postrider/contract'
import type { ConcurrencyLimiter } from '@postrider/runtime/concurrency-limiter'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { validationError } from '../../platform/errors.ts'
import { addOperation } from '../../platform/http/operation.ts'
import { messageAttributes } from '../message-attributes.ts'
import { createOwnBudget } from '../own-data/render-own-data.ts'
import { BODY_BYTES_MAX, type SendRouteDeps, sendErrors } from '../send-route-deps.ts'
import { createMessageReader } from './read-message.ts'
import { type MessageResult, sendBatch } from './send-batch.ts'

export interface BatchRouteDeps extends SendRouteDeps {
  /** How many batches are made ready at once. */
  readonly limiter: ConcurrencyLimiter
}

/** Each message is checked by itself, when its turn has come. */
const outerBody = Type.Object(
  {
    ...sendBatchBody.properties,
    messages: Type.Array(Type.Unknown(), { minItems: 1, maxItems: batchMessagesMax }),
  },
  { additionalProperties: false },
)

export function batchRoutes(app: FastifyInstance, deps: BatchRouteDeps): void {
  const readMessage = createMessageReader()
  addOperation(app, 'sendBatch', {
    summary: 'Send many emails at once',
    description: `Takes up to ${batchMessagesMax} bodies of sendEmail. Each is accepted or refused as sendEmail would have done it, and the answer is 202 with one result for each, in order. So look at each result: one with \`ref_id\` was accepted, one with \`code\` was not.

With \`atomic\`, all messages are accepted in one transaction, or none: then the answer is 400 \`batch_refused\`, and \`errors\` names the messages at fault.

A message may have an \`idempotency_key\`; the header \`Idempotency-Key\` is refused. One key twice in a batch: the second is judged after the outcome of the first. With the same body it gets the same \`ref_id\`, and sends nothing; with another body it is \`idempotency_mismatch\`.

When no message was accepted because the service is unavailable, the answer is 503. When some were accepted, the others are \`unavailable\` in their results: send these again under their keys.`,
    tag: 'Email',
    body: sendBatchBody,
    outerBody,
    answer: sendBatchAnswer,
    scopes: ['send'],
    bodyBytesMax: BODY_BYTES_MAX,
    errors: [...sendErrors, 'batch_refused'],
    isForTests: true,
    refuseEarly: ({ tenantId, mode }) => deps.emails.refuseEarly(tenantId, mode === 'test'),
    async handle({ tenant: { tenantId, mode }, body, traceparent, request }) {
      if (request.headers['idempotency-key'] !== undefined)
        throw validationError({
          path: 'Idempotency-Key',
          message: 'is not for a batch: give each message an idempotency_key',
        })
      if (deps.tracing !== undefined) request.spanAttributes = messageAttributes({ tenantId })
      const { messages, atomic: isAtomic = false } = body
      const isTest = mode === 'test'
      const batch = {
        ...{ tenantId, isTest, traceparent, messages, isAtomic },
        ownBudget: createOwnBudget(),
      }
      const results = await deps.limiter.run(tenantId, () =>
        sendBatch({ ...deps, readMessage }, batch),
      )
      return { message: messageOf(results), results }
    },
  })
}

function messageOf(results: readonly MessageResult[]): string {
  const accepted = results.filter((result) => 'ref_id' in result).length
  return accepted === results.length
    ? 'Batch Accepted'
    : `Batch Accepted In Part: ${accepted} of ${results.length} messages`
}
