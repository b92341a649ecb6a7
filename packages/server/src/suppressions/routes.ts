/** The operations on suppressions (docs/reference/suppressions.md#suppressions). */
import {
  addSuppressionAnswer,
  addSuppressionBody,
  deleteSuppressionAnswer,
  getSuppressionAnswer,
  listSuppressionsAnswer,
  listSuppressionsQuery,
  subscribeEmailAnswer,
  subscribeEmailBody,
  suppressionParams,
  unsubscribeEmailAnswer,
  unsubscribeEmailBody,
} from '@postrider/contract'
import type { FastifyInstance } from 'fastify'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db/index.ts'
import { ApiError } from '../platform/errors.ts'
import { addOperation } from '../platform/http/operation.ts'
import { addSuppression } from './add-suppression.ts'
import { getSuppression } from './get-suppression.ts'
import { listSuppressions } from './list-suppressions.ts'
import { subscribeEmail } from './subscribe-email.ts'
import { unsubscribeEmail } from './unsubscribe-email.ts'

export interface SuppressionRoutesDeps {
  readonly db: Db
  readonly clock: Pick<Clock, 'now'>
}

export function suppressionRoutes(app: FastifyInstance, deps: SuppressionRoutesDeps): void {
  const tag = 'Suppressions'
  addOperation(app, 'unsubscribeEmail', {
    summary: 'Send nothing to an address any more',
    description:
      'From the answer on, recipients with this address are accepted as `suppressed`: they are not sent to, and no event is emitted. Those that are queued already end the same way when their turn comes; an attempt under way is not stopped. Repeating it changes nothing.',
    tag,
    scopes: ['send'],
    isForSupport: true,
    body: unsubscribeEmailBody,
    answer: unsubscribeEmailAnswer,
    async handle({ tenant, body }) {
      const { tenantId, keyId } = tenant
      await unsubscribeEmail(deps, { tenantId, keyId, email: body.email })
      return { message: 'Email Unsubscribed' }
    },
  })

  addOperation(app, 'subscribeEmail', {
    summary: 'Let an address be sent to again',
    description:
      'Removes its suppression, whatever the reason was; an address that is not suppressed stays as it is. What was refused meanwhile is not sent.',
    tag,
    scopes: ['send'],
    isForSupport: true,
    body: subscribeEmailBody,
    answer: subscribeEmailAnswer,
    async handle({ tenant, body }) {
      await subscribeEmail(deps, { tenantId: tenant.tenantId, email: body.email })
      return { message: 'Email Subscribed' }
    },
  })

  addOperation(app, 'listSuppressions', {
    summary: 'List the addresses that are not sent to',
    tag,
    scopes: ['read'],
    query: listSuppressionsQuery,
    answer: listSuppressionsAnswer,
    async handle({ tenant, query }) {
      return { message: 'Suppressions', ...(await listSuppressions(deps, tenant.tenantId, query)) }
    },
  })

  addOperation(app, 'addSuppression', {
    summary: 'Suppress an address, with a note and until a time',
    description:
      'From the answer on, the address gets no mail, as after unsubscribeEmail. An address that is suppressed already keeps the stronger of the two reasons, from the strongest: `complained`, `unsubscribed`, `manual`, `bounced`. Of an equal reason the new note and end count, of another one the later end. The answer shows what holds now.',
    tag,
    scopes: ['send'],
    isForSupport: true,
    body: addSuppressionBody,
    answer: addSuppressionAnswer,
    errors: ['conflict'],
    async handle({ tenant, body }) {
      const suppression = await addSuppression(deps, tenant, body)
      return { message: 'Suppression Added', suppression }
    },
  })

  addOperation(app, 'getSuppression', {
    summary: 'Get why an address is not sent to',
    description:
      '`source` says what gave the reason: the event of which email, and the provider that reported it, or the API key that asked for it.',
    tag,
    scopes: ['read'],
    params: suppressionParams,
    answer: getSuppressionAnswer,
    async handle({ tenant: { tenantId }, params }) {
      const suppression = await getSuppression(deps, tenantId, params.email)
      return { message: 'Suppression', suppression }
    },
  })

  addOperation(app, 'deleteSuppression', {
    summary: 'Remove the suppression of an address',
    tag,
    scopes: ['send'],
    isForSupport: true,
    params: suppressionParams,
    answer: deleteSuppressionAnswer,
    async handle({ tenant, params }) {
      const { tenantId } = tenant
      if (!(await subscribeEmail(deps, { tenantId, email: params.email })))
        throw new ApiError('not_found')
      return { message: 'Suppression Deleted' }
    },
  })
}
