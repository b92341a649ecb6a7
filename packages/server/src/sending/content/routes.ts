/** getEmailContent and getRawEmail (docs/reference/sending.md#content). */
import {
  emailParams,
  getEmailContentAnswer,
  getEmailContentQuery,
  getRawEmailQuery,
} from '@postrider/contract'
import { type ConcurrencyLimiter, enterLimiter } from '@postrider/runtime/concurrency-limiter'
import type { FastifyInstance } from 'fastify'
import { offerFile, streamInSlices } from '../../platform/http/file-answer.ts'
import { addOperation, addStreamOperation } from '../../platform/http/operation.ts'
import { type BuildRawDeps, buildRaw } from './build-raw.ts'
import { getContent } from './get-content.ts'

export interface ContentRouteDeps extends BuildRawDeps {
  /** Each holds an email in memory. */
  readonly limiter: ConcurrencyLimiter
}

export function contentRoutes(app: FastifyInstance, deps: ContentRouteDeps): void {
  const { db, limiter } = deps
  addOperation(app, 'getEmailContent', {
    summary: 'Get the content of an email',
    description:
      'What was accepted: HTML and text without tracking, and attachments by their names and sizes. A template is shown as it was rendered: with `email` for that recipient, without it for those who have no `template_data` of their own. Kept for `POSTRIDER_CONTENT_RETENTION`, then 410 `content_removed`; once the email itself is gone, 404.',
    tag: 'Email',
    params: emailParams,
    query: getEmailContentQuery,
    answer: getEmailContentAnswer,
    scopes: ['content'],
    errors: ['rate_limited', 'content_removed'],
    async handle({ tenant: { tenantId }, params, query }) {
      const content = await limiter.run(tenantId, () =>
        getContent(db, tenantId, params.ref_id, query.email),
      )
      return { message: 'Email Content', content }
    },
  })
  addStreamOperation(app, 'getRawEmail', {
    summary: 'The message of an email as one recipient gets it',
    description:
      'With its headers, its attachments, and the tracking that the email asked for: opening it in a mail program may count as an open. It is built anew from what is stored, byte for byte as it is sent. Only a change of `POSTRIDER_PUBLIC_URL`, of the keys or of the version of the service changes it. For a sending domain it is what the relay provider was given, written as a message; the provider writes its own. Kept for `POSTRIDER_CONTENT_RETENTION`, then 410 `content_removed`; once the email itself is gone, 404.',
    tag: 'Email',
    params: emailParams,
    query: getRawEmailQuery,
    contentTypes: ['message/rfc822'],
    answerHeaders: ['Content-Disposition'],
    scopes: ['content'],
    errors: ['rate_limited', 'content_removed'],
    async handle({ tenant: { tenantId }, params: { ref_id: refId }, query, reply }) {
      const leave = await enterLimiter(limiter, tenantId)
      try {
        const message = await buildRaw(deps, tenantId, refId, query.email)
        offerFile(reply, {
          type: 'message/rfc822',
          filename: `${refId}.eml`,
          fallback: 'email.eml',
        })
        return streamInSlices(reply, message, leave)
      } catch (error) {
        leave()
        throw error
      }
    },
  })
}
