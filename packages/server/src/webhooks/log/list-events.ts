/**
 * listEvents (docs/reference/events.md#list): newest first, in the order of their ids.
 *
 * A page is one bounded piece of work: it looks at a bounded number of events, and holds bounded bodies.
 * Where a bound is met first the page is shorter, or even empty, and its token goes on from there.
 */
import type { ListEventsQuery } from '@postrider/contract'
import { formatMicros } from '../../platform/clock.ts'
import { type Db, readInOrder, type Tx } from '../../platform/db/index.ts'
import { type Page, pageTokenAfter, readPage } from '../../platform/http/paging.ts'
import { readStartAndEnd } from '../../platform/http/read-span.ts'
import { timeOfUlid, ulidAtTime } from '../../platform/ids.ts'
import { allTime, dayAt } from '../../platform/values/date-time.ts'
import { subjectOf } from '../deliveries/list-deliveries.ts'
import { endOfLook, type LogFilters, type LogKey, readLog, readLogBodies } from './log-store.ts'
import { asciiLower, isContent, showEvent, showWithoutContent } from './shown-event.ts'

const LIST = 'events'
const EVENT_ID = /^evt_[0-7][0-9A-HJKMNP-TV-Z]{25}$/
/** The id of an event that is not late was made within this of its `event_at`. */
const PROMPT_MS = 10 * 60_000
const DAY_MS = 86_400_000

export interface LogBounds {
  /** Events that a page looks at: by their columns, and in their bodies. */
  readonly looksMax: number
  readonly bodyLooksMax: number
  /** Of bodies in a page; one event may have more. */
  readonly octetsMax: number
}

const BOUNDS: LogBounds = { looksMax: 20_000, bodyLooksMax: 5_000, octetsMax: 2 * 1024 * 1024 }

export interface ListEventsDeps {
  readonly db: Db
  /** Smaller ones, for tests. */
  readonly logBounds?: LogBounds | undefined
}

export interface EventsPage {
  /** As JSON. */
  readonly events: readonly string[]
  readonly nextPageToken?: string
}

export async function listEvents(
  { db, logBounds: bounds = BOUNDS }: ListEventsDeps,
  caller: { readonly tenantId: string; readonly mayReadContent: boolean },
  query: ListEventsQuery,
): Promise<EventsPage> {
  const page = readPage(query, LIST, EVENT_ID)
  const filters = filtersOf(caller.tenantId, query, page)
  return await readInOrder(db, async (tx) => {
    const { keys, next } = await findKeys(tx, filters, page, looksOf(query, page, bounds))
    const shown = withinOctets(keys, bounds.octetsMax)
    const open = shown.filter((key) => caller.mayReadContent || !isContent(key))
    const bodies = await readLogBodies(tx, open)
    const texts = new Map(open.map((key, i) => [key, bodies[i]]))
    const nextBefore = shown.length < keys.length ? shown.at(-1)?.eventId : next
    return {
      events: shown.flatMap((key) => {
        if (!texts.has(key)) return showWithoutContent(key)
        const logged = texts.get(key)
        return logged === undefined ? [] : showEvent(key, logged)
      }),
      ...(nextBefore === undefined ? {} : { nextPageToken: pageTokenAfter(page, nextBefore) }),
    }
  })
}

async function findKeys(
  tx: Tx,
  filters: LogFilters,
  { limit }: Page,
  looks: number,
): Promise<{ keys: LogKey[]; next: string | undefined }> {
  const { refId } = filters
  const notBefore = refId === undefined ? undefined : dayAt(timeOfUlid(refId).getTime() - DAY_MS)
  const found = await readLog(tx, filters, { limit: limit + 1, looks, notBefore })
  if (found.length > limit) {
    const keys = found.slice(0, limit)
    return { keys, next: keys.at(-1)?.eventId }
  }
  return {
    keys: found,
    next: refId === undefined ? await endOfLook(tx, filters, looks) : undefined,
  }
}

function looksOf(
  { event, email, mailer_id, start, end }: ListEventsQuery,
  page: Page,
  o: LogBounds,
) {
  if (email !== undefined || mailer_id !== undefined) return o.bodyLooksMax
  const isFiltered = event !== undefined || start !== undefined || end !== undefined
  return isFiltered ? Math.max(o.looksMax, page.limit + 1) : page.limit + 1
}

function filtersOf(tenantId: string, query: ListEventsQuery, { before }: Page): LogFilters {
  const span = readStartAndEnd(query)
  const isAll = span.from === allTime.from && span.to === allTime.to
  const fromMs = toMillis(span.from)
  const toMs = toMillis(span.to)
  const end = idAt(toMs + PROMPT_MS)
  return {
    tenantId,
    event: query.event,
    refId: subjectOf(query),
    email: query.email === undefined ? undefined : asciiLower(query.email),
    mailerId: query.mailer_id,
    times: isAll
      ? undefined
      : {
          from: formatMicros(span.from),
          to: formatMicros(span.to),
          lateIds: { from: idAt(fromMs), before: idAt(toMs) },
        },
    ids: {
      from: idAt(Math.max(0, fromMs - PROMPT_MS)),
      before: before === undefined || before > end ? end : before,
    },
  }
}

function idAt(ms: number): string {
  return `evt_${ulidAtTime(ms)}`
}

/** The first whole one at or after it. */
function toMillis(micros: bigint): number {
  return Number((micros + 999n) / 1000n)
}

/** As many as hold so much, but one at least. */
function withinOctets(keys: readonly LogKey[], octetsMax: number): readonly LogKey[] {
  let octets = 0
  const end = keys.findIndex((key, at) => {
    octets += key.octets
    return at > 0 && octets > octetsMax
  })
  return end === -1 ? keys : keys.slice(0, end)
}
