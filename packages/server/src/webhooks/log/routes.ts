/** listEvents (docs/reference/events.md#list). */
import { listEventsAnswer, listEventsQuery } from '@postrider/contract'
import type { ConcurrencyLimiter } from '@postrider/runtime/concurrency-limiter'
import type { HttpApp } from '../../platform/http/app.ts'
import { addOperation } from '../../platform/http/operation.ts'
import { type ListEventsDeps, listEvents } from './list-events.ts'
import { mayReadContent } from './shown-event.ts'

export interface EventLogRouteDeps extends ListEventsDeps {
  /** Shared with what else reads the record. */
  readonly limiter: ConcurrencyLimiter
}

export function eventLogRoutes(app: HttpApp, deps: EventLogRouteDeps): void {
  addOperation(app, 'listEvents', {
    summary: 'List the events of the log, newest first',
    description:
      'Each event as a webhook gets it, with its `event_id`, in the order of recording. All given filters must fit. A page looks at a bounded number of events, so it may be short or empty: follow `nextPageToken` until it is absent. `start` and `end` are about `event_at`. An event that was recorded more than ten minutes after it happened counts at the time of its recording. A key without the scope `content` sees of `INCOMING_EMAIL` its `inbound_id` only.',
    tag: 'Events',
    query: listEventsQuery,
    answer: listEventsAnswer,
    scopes: ['read'],
    errors: ['rate_limited'],
    async handle({ tenant, query, reply }) {
      const { tenantId } = tenant
      const caller = { tenantId, mayReadContent: mayReadContent(tenant) }
      const { events, ...rest } = await deps.limiter.run(tenantId, () =>
        listEvents(deps, caller, query),
      )
      // They are JSON already.
      reply.type('application/json; charset=utf-8')
      reply.serializer((answer) => putEvents(JSON.stringify(answer), events))
      return { message: 'Events', events: [], ...rest }
    },
  })
}

const BEFORE_EVENTS = '"events":['

/** The first such text in the answer is the field: only fixed texts stand before it. */
function putEvents(answer: string, events: readonly string[]): string {
  const at = answer.indexOf(BEFORE_EVENTS) + BEFORE_EVENTS.length
  return answer.slice(0, at) + events.join(',') + answer.slice(at)
}
