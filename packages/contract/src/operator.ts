/**
 * What the operator sees of the whole service under `/admin/v1`: its health, its queues, its processes, and a
 * search over all tenants (docs/reference/operator.md#health).
 */
import { type Static, Type } from 'typebox'
import {
  answer,
  closedObject,
  nextPageToken,
  pageQuery,
  stringOrNull,
  timestamp,
  timestampOrNull,
} from './common.ts'

export const healthStates = ['ok', 'warning', 'failed'] as const
export type HealthState = (typeof healthStates)[number]

export const healthCheck = closedObject(
  {
    check: Type.String({ description: 'What was looked at' }),
    state: Type.Enum([...healthStates], { description: '`failed`: the service is not fit to run' }),
    detail: Type.String({ description: 'What was found' }),
    fix: stringOrNull('What to do; null when nothing is wrong'),
  },
  { description: 'A check, as `postrider doctor` prints it' },
)
export type HealthCheck = Static<typeof healthCheck>

export const getHealthAnswer = answer({
  health: closedObject(
    {
      ok: Type.Boolean({ description: 'No check has failed' }),
      checked_at: timestamp(
        'When it was looked at; one look serves all who ask within ten seconds',
      ),
      checks: Type.Array(healthCheck, { description: 'All, in the order of the look' }),
    },
    { description: 'Whether the service is fit to run' },
  ),
})
export type GetHealthAnswer = Static<typeof getHealthAnswer>

export const queueKinds = ['mailer', 'webhook'] as const
export type QueueKind = (typeof queueKinds)[number]

export const getQueuesQuery = closedObject({
  kind: Type.Optional(Type.Enum([...queueKinds], { description: 'Only those of this kind' })),
  ...pageQuery.properties,
})
export type GetQueuesQuery = Static<typeof getQueuesQuery>

export const operatedQueue = closedObject(
  {
    kind: Type.Enum([...queueKinds], { description: 'Of a mailer: mail. Of a webhook: events' }),
    mailer_id: Type.Optional(Type.String({ description: 'Of a mailer or sending domain' })),
    webhook_id: Type.Optional(Type.String({ description: 'Of a webhook' })),
    tenant_id: Type.String({ description: 'Whose it is' }),
    state: Type.String({
      description:
        'Of a mailer: `active`, `deactivated`, `disabled`, `deleted`, `tenant_suspended` or `tenant_deleting`. Of a webhook: `active`, `failing`, `dormant`, `paused` or `idle`',
    }),
    late: Type.Boolean({
      description:
        'Mail has been due for over a minute and limits do not explain it; or a webhook fails, or does not keep up for five minutes',
    }),
    due: Type.Integer({ description: 'Mail that could be sent now, or events that wait' }),
    waiting: Type.Integer({
      description: 'Mail for a later attempt, or deliveries that are tried again',
    }),
    held: Type.Integer({
      description:
        'Mail that waits for its mailer to be active, or its tenant; or events of a paused webhook',
    }),
    oldest_at: timestampOrNull('Since when the oldest is due, or waits'),
  },
  { description: 'What waits for one mailer or webhook; counts stop at 10,000' },
)
export type OperatedQueue = Static<typeof operatedQueue>

export const getQueuesAnswer = answer({
  queues: Type.Array(operatedQueue, {
    description: 'Of all tenants, those in which something waits: late ones first, then the oldest',
  }),
  nextPageToken,
})
export type GetQueuesAnswer = Static<typeof getQueuesAnswer>

export const systemProcess = closedObject(
  {
    process_id: Type.String({ description: 'Identifier of the process, new at each start' }),
    host: Type.String({ description: 'Where it runs' }),
    roles: Type.Array(Type.String(), { description: 'What it does' }),
    version: Type.String({ description: 'Of the program' }),
    commit: Type.String({ description: 'Of the program' }),
    node: Type.String({ description: 'Version of Node.js' }),
    started_at: timestamp('When it started'),
    seen_at: timestamp('When it last told that it runs; it does so every 15 s'),
  },
  { description: 'A process of the service' },
)
export type SystemProcess = Static<typeof systemProcess>

export const systemTable = closedObject(
  {
    name: Type.String({ description: 'Name of the table; with all its days' }),
    bytes: Type.Integer({ description: 'About how large it is, with its indexes' }),
    rows: Type.Integer({ description: 'About how many rows it has' }),
  },
  { description: 'A table of the database' },
)
export type SystemTable = Static<typeof systemTable>

export const systemSetting = closedObject(
  {
    name: Type.String({ description: 'The variable' }),
    value: stringOrNull('As it holds in the process that answers; null when unset or not shown'),
    is_set: Type.Boolean({
      description: 'It has a value: its own, the default, or a generated one',
    }),
    is_generated: Type.Boolean({
      description: 'true: not configured; the first start generated the secret',
    }),
    is_shown: Type.Boolean({ description: 'false: its value may hold a secret' }),
  },
  { description: 'A variable of the configuration' },
)
export type SystemSetting = Static<typeof systemSetting>

export const getSystemAnswer = answer({
  system: closedObject(
    {
      processes: Type.Array(systemProcess, { description: 'All that run, the newest first' }),
      database: closedObject(
        {
          version: Type.String({ description: 'Of PostgreSQL' }),
          is_embedded: Type.Boolean({ description: 'Whether the service runs it' }),
          bytes: Type.Integer({ description: 'How large the database is' }),
        },
        { description: 'Where everything is stored' },
      ),
      tables: Type.Array(systemTable, { description: 'The largest, 30 at most' }),
      configuration: Type.Array(systemSetting, { description: 'Of the process that answers' }),
    },
    { description: 'What the service runs as' },
  ),
})
export type GetSystemAnswer = Static<typeof getSystemAnswer>

export const searchLengthMin = 3
export const searchQuery = closedObject({
  q: Type.String({
    minLength: searchLengthMin,
    maxLength: 320,
    description: 'A whole id, a whole address or a whole domain',
    examples: ['ada@example.com'],
  }),
})
export type SearchQuery = Static<typeof searchQuery>

export const searchKinds = [
  'tenant',
  'api_key',
  'email',
  'recipient',
  'mailer',
  'webhook',
  'event',
  'delivery',
  'domain',
  'inbound_domain',
  'inbound_message',
  'suppression',
  'user',
] as const
export type SearchKind = (typeof searchKinds)[number]

/** Of one kind. */
export const searchResultsMax = 20

export const searchResult = closedObject(
  {
    kind: Type.Enum([...searchKinds], { description: 'What was found' }),
    id: Type.String({
      description:
        'Its id, or its name where it has none. Of a recipient: the `ref_id` of the email',
    }),
    tenant_id: stringOrNull('Whose it is. null: a user, who may have several tenants'),
  },
  { description: 'Something that was found' },
)
export type SearchResult = Static<typeof searchResult>

export const searchAnswer = answer({
  results: Type.Array(searchResult, { description: `At most ${searchResultsMax} of a kind` }),
  complete: Type.Boolean({
    description: 'false: there are more results, or more tenants than one search looks at',
  }),
})
export type SearchAnswer = Static<typeof searchAnswer>
