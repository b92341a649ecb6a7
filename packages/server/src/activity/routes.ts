/** getEmailLogs and the trace of an email (docs/reference/sending.md#trace). */
import { Readable } from 'node:stream'
import {
  emailParams,
  exportEmailLogsQuery,
  exportsAtOnceMax,
  getEmailAnswer,
  getEmailLogsAnswer,
  getEmailLogsQuery,
  getEmailQuery,
  getMailerActivityAnswer,
  getOverviewAnswer,
  getOverviewQuery,
  getStatisticsAnswer,
  getStatisticsQuery,
  getUsageAnswer,
  mailerParams,
  quotaNearShare,
  statisticDaysMax,
  statisticHoursMax,
  type Tenant,
} from '@postrider/contract'
import { type ConcurrencyLimiter, enterLimiter } from '@postrider/runtime/concurrency-limiter'
import type { FastifyInstance } from 'fastify'
import type { Clock } from '../platform/clock.ts'
import { addOperation, addStreamOperation } from '../platform/http/operation.ts'
import { type ExportDeps, exportLogs } from './export-logs.ts'
import { getEmail } from './get-email.ts'
import { getMailerActivity } from './get-mailer-activity.ts'
import { getOverview } from './get-overview.ts'
import { getStatistics } from './get-statistics.ts'
import { type LogDeps, listLogs } from './list-logs.ts'

export interface ActivityRouteDeps extends LogDeps, ExportDeps {
  readonly clock: Pick<Clock, 'now'>
  /** Shared with what else reads the record. */
  readonly limiter: ConcurrencyLimiter
  /** Of exports: without a line, which would wait for minutes. */
  readonly exportLimiter: ConcurrencyLimiter
  /** With its quotas and its usage. */
  readonly readTenant: (tenantId: string) => Promise<Tenant>
}

export function activityRoutes(app: FastifyInstance, deps: ActivityRouteDeps): void {
  overviewRoutes(app, deps)
  addOperation(app, 'getEmailLogs', {
    summary: 'List what became of emails, recipient by recipient',
    description: `One log for each recipient, newest first; all given filters must fit. A page looks at a bounded number of recipients, so it may be short or empty if few of very many fit. Follow \`nextPageToken\` until it is absent.

Pages neither repeat nor omit a log that was there when the first page was read, whatever is accepted meanwhile. Logs are in the order in which requests came in (\`created_at\`, then \`ref_id\`). A log whose request is just being committed may appear behind newer ones. To read a complete log once, set \`endCreatedAt\` a minute into the past.`,
    tag: 'Email',
    query: getEmailLogsQuery,
    answer: getEmailLogsAnswer,
    scopes: ['read'],
    errors: ['rate_limited'],
    async handle({ tenant, query }) {
      const { tenantId } = tenant
      const page = await deps.limiter.run(tenantId, () => listLogs(deps, tenantId, query))
      return { message: 'Email Logs', ...page }
    },
  })

  addStreamOperation(app, 'exportEmailLogs', {
    summary: 'All logs that fit, as CSV or NDJSON',
    description: `Newest first, as getEmailLogs lists them, in UTF-8. In CSV, an apostrophe precedes a text that a spreadsheet would take for a formula (one that begins with =, +, -, @, a tab or a carriage return). If an export breaks off, clients report a broken transfer. NDJSON then has a last line \`{"error": "…"}\`, if it could still be written. At most ${exportsAtOnceMax} at once for a tenant, then 429.`,
    tag: 'Email',
    query: exportEmailLogsQuery,
    contentTypes: Object.values(CONTENT_TYPES),
    answerHeaders: ['Content-Disposition'],
    scopes: ['read'],
    errors: ['rate_limited'],
    async handle({ tenant, query, reply }) {
      const { tenantId } = tenant
      const leave = await enterLimiter(deps.exportLimiter, tenantId)
      try {
        const ended = new AbortController()
        const text = await exportLogs(deps, tenantId, query, ended.signal)
        const stream = Readable.from(text, { objectMode: false, highWaterMark: BUFFERED_BYTES })
        // The stream closes when the page that it waits for has come; the reader may be gone before.
        reply.raw.once('close', () => ended.abort())
        stream.once('close', leave)
        reply.header('content-type', `${CONTENT_TYPES[query.format]}; charset=utf-8`)
        reply.header('content-disposition', `attachment; filename="email-logs.${query.format}"`)
        return stream
      } catch (error) {
        leave()
        throw error
      }
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
      const email = await deps.limiter.run(tenantId, () =>
        getEmail(deps, tenantId, params.ref_id, query),
      )
      return { message: 'Email', email }
    },
  })
}

function overviewRoutes(app: FastifyInstance, deps: ActivityRouteDeps): void {
  addOperation(app, 'getOverview', {
    summary: 'Get what was sent lately, what waits, and what to look at',
    description: `Counts are those of getStatistics, of the last 24 hours when \`start\` is left out. A span that begins more than 31 days ago is counted in whole days.`,
    tag: 'Email',
    query: getOverviewQuery,
    answer: getOverviewAnswer,
    scopes: ['read'],
    errors: ['rate_limited'],
    async handle({ tenant, query }) {
      const { tenantId } = tenant
      const overview = await deps.limiter.run(tenantId, () => getOverview(deps, tenantId, query))
      return { message: 'Overview', overview }
    },
  })
  addOperation(app, 'getUsage', {
    summary: 'Get your quotas, and how much of them is used',
    description: `The operator sets quotas: beyond one of them sendEmail is 429 \`quota_exceeded\`. A quota that is null is not set. \`emails_today\` stands against \`emails_per_day\`, \`queued\` against \`queued_max\`, and \`storage_bytes\` against \`storage_bytes_max\`. The alert \`quota_near\` tells you when ${quotaNearShare * 100} % of a quota are used.`,
    tag: 'Email',
    answer: getUsageAnswer,
    scopes: ['read'],
    errors: ['rate_limited'],
    async handle({ tenant: { tenantId } }) {
      const { quotas, usage } = await deps.limiter.run(tenantId, () => deps.readTenant(tenantId))
      return { message: 'Usage', quotas, usage }
    },
  })
  addOperation(app, 'getStatistics', {
    summary: 'Count what happened to emails, by hour or day, mailer and group',
    description: `Exact and up to date. Each fact counts in the hour in which it happened, whenever the email was accepted, and is kept for ${statisticDaysMax} days. One request covers at most ${statisticHoursMax} hours or ${statisticDaysMax} days. A recipient who is rescued and fails again has failed twice.`,
    tag: 'Email',
    query: getStatisticsQuery,
    answer: getStatisticsAnswer,
    scopes: ['read'],
    errors: ['rate_limited'],
    async handle({ tenant, query }) {
      const { tenantId } = tenant
      const statistics = await deps.limiter.run(tenantId, () =>
        getStatistics(deps, tenantId, query),
      )
      return { message: 'Statistics', statistics }
    },
  })

  addOperation(app, 'getMailerActivity', {
    summary: 'Get what a mailer did in the last 24 hours, and what its mail waits for',
    tag: 'Mailers',
    params: mailerParams,
    answer: getMailerActivityAnswer,
    scopes: ['mailers', 'read'],
    errors: ['rate_limited'],
    async handle({ tenant, params }) {
      const { tenantId } = tenant
      const activity = await deps.limiter.run(tenantId, () =>
        getMailerActivity(deps, tenantId, params.mailer_id),
      )
      return { message: 'Mailer Activity', activity }
    },
  })
}

const BUFFERED_BYTES = 64 * 1024
const CONTENT_TYPES = { csv: 'text/csv', ndjson: 'application/x-ndjson' } as const
