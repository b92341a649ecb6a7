/** getEmailLogs and the trace of an email (interface §4.3; contract §2, §3, §5). */
import {
  emailParams,
  getEmailAnswer,
  getEmailLogsAnswer,
  getEmailLogsQuery,
  getEmailQuery,
} from '@postrider/contract'
import type { FastifyInstance } from 'fastify'
import type { Gate } from '../platform/gate.ts'
import { addOperation } from '../platform/http/operation.ts'
import { getEmail } from './get-email.ts'
import { type LogDeps, listLogs } from './list-logs.ts'

export interface ActivityRouteDeps extends LogDeps {
  /** Shared with what else reads the record. */
  readonly gate: Gate
}

export function activityRoutes(app: FastifyInstance, deps: ActivityRouteDeps): void {
  addOperation(app, 'getEmailLogs', {
    summary: 'List what became of emails, recipient by recipient',
    description: `One log for each recipient, newest first; all filters that are given must fit. A page looks at a bounded number of recipients, so that it may be short or empty where few of very many fit: follow \`nextPageToken\` until it is absent.

Pages neither repeat nor leave out a log that was there when the first of them was read, whatever is accepted meanwhile. Logs are in the order in which requests came in (\`created_at\`, then \`ref_id\`); one whose request is just being committed may appear behind those that are there already. Whoever reads a log to its end once sets \`endCreatedAt\` a minute into the past.`,
    tag: 'Email',
    query: getEmailLogsQuery,
    answer: getEmailLogsAnswer,
    scopes: ['read'],
    errors: ['rate_limited'],
    async handle({ tenant, query }) {
      const { tenantId } = tenant
      const page = await deps.gate.run(tenantId, () => listLogs(deps, tenantId, query))
      return { message: 'Email Logs', ...page }
    },
  })

  addOperation(app, 'getEmail', {
    summary: 'Get an email with its recipients, attempts, events and webhook deliveries',
    description:
      'What there is very much of is cut to the newest, and said to be. With `recipient` it is about one of its recipients alone.',
    tag: 'Email',
    params: emailParams,
    query: getEmailQuery,
    answer: getEmailAnswer,
    scopes: ['read'],
    errors: ['rate_limited'],
    async handle({ tenant, params, query }) {
      const { tenantId } = tenant
      const email = await deps.gate.run(tenantId, () =>
        getEmail(deps, tenantId, params.ref_id, query),
      )
      return { message: 'Email', email }
    },
  })
}
