/** The operations on suppressions (docs/reference/suppressions.md#suppressions). */
import { Readable } from 'node:stream'
import {
  addSuppressionAnswer,
  addSuppressionBody,
  deleteSuppressionAnswer,
  exportsAtOnceMax,
  getSuppressionAnswer,
  importSuppressionsAnswer,
  importSuppressionsQuery,
  listSuppressionsAnswer,
  listSuppressionsQuery,
  subscribeEmailAnswer,
  subscribeEmailBody,
  suppressionFileBytesMax,
  suppressionParams,
  unsubscribeEmailAnswer,
  unsubscribeEmailBody,
} from '@postrider/contract'
import { type ConcurrencyLimiter, enterLimiter } from '@postrider/runtime/concurrency-limiter'
import type { FastifyInstance } from 'fastify'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db/index.ts'
import { ApiError } from '../platform/errors.ts'
import { addOperation, addStreamOperation, addUploadOperation } from '../platform/http/operation.ts'
import { addSuppression } from './add-suppression.ts'
import { exportSuppressions } from './files/export-suppressions.ts'
import { type ImportDeps, importSuppressions } from './files/import-suppressions.ts'
import { getSuppression } from './get-suppression.ts'
import { listSuppressions } from './list-suppressions.ts'
import { subscribeEmail } from './subscribe-email.ts'
import { unsubscribeEmail } from './unsubscribe-email.ts'

export interface SuppressionRoutesDeps extends ImportDeps {
  readonly db: Db
  readonly clock: Pick<Clock, 'now'>
  /** Of files, each way without a line, which would wait for minutes. */
  readonly files: { readonly imports: ConcurrencyLimiter; readonly exports: ConcurrencyLimiter }
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
      'From the answer on, the address gets no mail, as after unsubscribeEmail. An address that is suppressed already keeps the stronger of the two reasons, from the strongest: `complained`, `unsubscribed`, `manual`, `bounced`. Of an equal reason the new note and end count, of another one the later end. The answer shows what holds now, and whether anything was `changed`.',
    tag,
    scopes: ['send'],
    isForSupport: true,
    body: addSuppressionBody,
    answer: addSuppressionAnswer,
    errors: ['conflict'],
    async handle({ tenant, body }) {
      const added = await addSuppression(deps, tenant, body)
      const message = added.changed ? 'Suppression Added' : 'Suppression Stays As It Is'
      return { message, ...added }
    },
  })

  fileRoutes(app, deps)

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

const BUFFERED_BYTES = 64 * 1024

function fileRoutes(app: FastifyInstance, deps: SuppressionRoutesDeps): void {
  const tag = 'Suppressions'
  addUploadOperation(app, 'importSuppressions', {
    summary: 'Suppress the addresses of a file',
    description:
      'The body is CSV in UTF-8 (RFC 4180) with a header, up to 40 MiB: the export of this service, or of another one (`format`). A line that does not fit is passed over and named in `refused`; all others count. An address that is suppressed already keeps the stronger reason and the later end. Lines are written as they are read: after a refusal in the middle, those before it are kept, and the message says how many. Send the file again then. A tenant imports one file at a time, then 429.',
    tag,
    scopes: ['send'],
    isForSupport: true,
    uploads: 'text/csv',
    bodyBytesMax: suppressionFileBytesMax,
    query: importSuppressionsQuery,
    answer: importSuppressionsAnswer,
    errors: ['rate_limited'],
    async handle({ tenant: { tenantId, keyId }, query: { format = 'postrider' }, upload }) {
      const order = { tenantId, callerId: keyId, format }
      const imported = await deps.files.imports.run(tenantId, () =>
        importSuppressions(deps, order, upload),
      )
      return { message: 'Suppressions Imported', ...imported }
    },
  })

  addStreamOperation(app, 'exportSuppressions', {
    summary: 'All addresses that are not sent to, as CSV',
    description: `Newest first, in UTF-8, with the columns \`email,reason,source,note,created_at,expires_at\`; importSuppressions reads it. An apostrophe precedes a text that a spreadsheet would take for a formula, and the import takes it away. If an export breaks off, clients report a broken transfer. At most ${exportsAtOnceMax} at once for a tenant, then 429.`,
    tag,
    contentTypes: ['text/csv'],
    answerHeaders: ['Content-Disposition'],
    scopes: ['read'],
    errors: ['rate_limited'],
    async handle({ tenant: { tenantId }, reply }) {
      const leave = await enterLimiter(deps.files.exports, tenantId)
      try {
        const ended = new AbortController()
        const text = await exportSuppressions(deps, tenantId, ended.signal)
        const stream = Readable.from(text, { objectMode: false, highWaterMark: BUFFERED_BYTES })
        reply.raw.once('close', () => ended.abort())
        stream.once('close', leave)
        reply.header('content-type', 'text/csv; charset=utf-8')
        reply.header('content-disposition', 'attachment; filename="suppressions.csv"')
        return stream
      } catch (error) {
        leave()
        throw error
      }
    },
  })
}
