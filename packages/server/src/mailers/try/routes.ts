/** testMailer (docs/reference/mailers.md#test). */
import { mailerParams, testMailerAnswer, testMailerBody, testMailsMax } from '@postrider/contract'
import type { FastifyInstance } from 'fastify'
import { ApiError } from '../../platform/errors.ts'
import { addOperation } from '../../platform/http/operation.ts'
import { type TryMailerDeps, tryMailer } from './try-mailer.ts'

export function tryRoutes(app: FastifyInstance, deps: TryMailerDeps): void {
  addOperation(app, 'testMailer', {
    summary: 'Test a mailer, step by step',
    description: `Logs in as the next send would, from the name lookup on, and stores nothing: the mailer's state stays as it is. A mailbox is logged in to as well. A sending domain has its provider's server reached; the provider's key is tried with \`to\` alone.

With \`to\`, a short mail goes to that address, at most ${testMailsMax} an hour. It is in no log, has no event, and does not count against the mailer's limits. Up to two minutes.`,
    tag: 'Mailers',
    scopes: ['mailers'],
    params: mailerParams,
    body: testMailerBody,
    answer: testMailerAnswer,
    errors: ['tenant_suspended', 'rate_limited'],
    async handle({ tenant: { tenantId, scopes }, params, body: { to } }) {
      if (to !== undefined && scopes.length > 0 && !scopes.includes('send'))
        throw new ApiError('forbidden', {
          message: 'A test mail needs the scope send: leave out to, or use another key',
        })
      const steps = await tryMailer(deps, { tenantId, mailerId: params.mailer_id }, to)
      const failed = steps.find(({ ok }) => !ok)
      const message = failed === undefined ? 'The Mailer Works' : `The Test Failed: ${failed.step}`
      return { message, steps }
    },
  })
}
