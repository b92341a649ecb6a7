/** The operations of alerts (docs/reference/alerts.md): of a tenant, and of the operator. */
import {
  deleteAlertsAnswer,
  deleteOperatorAlertsAnswer,
  getAlertsAnswer,
  getOperatorAlertsAnswer,
  setAlertsAnswer,
  setAlertsBody,
  setOperatorAlertsAnswer,
} from '@postrider/contract'
import type { FastifyInstance } from 'fastify'
import { addOperation } from '../platform/http/operation.ts'
import { operator } from './alert.ts'
import { deleteReceiver, type ReceiverDeps, setReceiver, showReceiver } from './receiver.ts'

const TOLD =
  'Each alert is told once when it begins and once when it is over: `{ alert, state, subject, at, details }` as JSON, or a message where the URL is one of Slack. What begins anew is told anew. A receiver that is away gets what it missed within a day, in order.'
const SET = `Replaces what was set before. The URL is checked like that of a webhook. ${TOLD}`
const ERRORS = ['url_not_allowed', 'url_unreachable', 'rate_limited'] as const
const REMOVED = 'What it was not told yet is dropped.'

export function alertRoutes(app: FastifyInstance, deps: ReceiverDeps): void {
  tenantRoutes(app, deps)
  operatorRoutes(app, deps)
}

function tenantRoutes(app: FastifyInstance, deps: ReceiverDeps): void {
  const tag = 'Webhooks'
  addOperation(app, 'setAlerts', {
    summary: 'Set where alerts of the tenant go',
    description: `Of its mailers, webhooks, queues, rates, quotas and domains. ${SET}`,
    tag,
    scopes: ['webhooks'],
    body: setAlertsBody,
    answer: setAlertsAnswer,
    errors: [...ERRORS],
    async handle({ tenant, body }) {
      return { message: 'Alerts Set', alerts: await setReceiver(deps, tenant.tenantId, body) }
    },
  })
  addOperation(app, 'getAlerts', {
    summary: 'Get where alerts of the tenant go',
    tag,
    scopes: ['webhooks', 'read'],
    answer: getAlertsAnswer,
    async handle({ tenant }) {
      return { message: 'Alerts', alerts: await showReceiver(deps, tenant.tenantId) }
    },
  })
  addOperation(app, 'deleteAlerts', {
    summary: 'Send no alerts of the tenant any more',
    description: REMOVED,
    tag,
    scopes: ['webhooks'],
    answer: deleteAlertsAnswer,
    errors: ['not_found'],
    async handle({ tenant }) {
      await deleteReceiver(deps, tenant.tenantId)
      return { message: 'Alerts Deleted' }
    },
  })
}

function operatorRoutes(app: FastifyInstance, deps: ReceiverDeps): void {
  const tag = 'Administration'
  addOperation(app, 'setOperatorAlerts', {
    summary: 'Set where alerts of the whole service go',
    description: `Of all tenants, each named in \`details.tenant_id\`, and of the disk. ${SET}`,
    tag,
    body: setAlertsBody,
    answer: setOperatorAlertsAnswer,
    errors: [...ERRORS],
    async handle({ body }) {
      return { message: 'Alerts Set', alerts: await setReceiver(deps, operator, body) }
    },
  })
  addOperation(app, 'getOperatorAlerts', {
    summary: 'Get where alerts of the whole service go',
    tag,
    answer: getOperatorAlertsAnswer,
    async handle() {
      return { message: 'Alerts', alerts: await showReceiver(deps, operator) }
    },
  })
  addOperation(app, 'deleteOperatorAlerts', {
    summary: 'Send no alerts of the whole service any more',
    description: REMOVED,
    tag,
    answer: deleteOperatorAlertsAnswer,
    errors: ['not_found'],
    async handle() {
      await deleteReceiver(deps, operator)
      return { message: 'Alerts Deleted' }
    },
  })
}
