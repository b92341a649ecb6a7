/** The events that the live page keeps: newest first, each once, and not without end. */
import type { ListedEvent } from '@postrider/client'

export const eventsKeptMax = 1_000
/** A page that drew each event by itself would keep the processor of a busy tenant's reader. */
const drawEveryMs = 100

export interface EventList {
  /** Newest first. */
  readonly events: readonly ListedEvent[]
  /** Ids that came, of those that are kept and of those that have just gone. */
  readonly ids: ReadonlySet<string>
}

export const emptyList: EventList = { events: [], ids: new Set() }

/** `arrived` is in the order of their commits. The same list when nothing is new. */
export function addEvents(list: EventList, arrived: readonly ListedEvent[]): EventList {
  const ids = new Set(list.ids)
  const fresh = arrived.filter(({ event_id }) => {
    const isNew = !ids.has(event_id)
    ids.add(event_id)
    return isNew
  })
  if (fresh.length === 0) return list
  const events = [...fresh.toReversed(), ...list.events].slice(0, eventsKeptMax)
  return { events, ids: ids.size <= 2 * eventsKeptMax ? ids : idsOf(events) }
}

interface Gathered {
  add(events: readonly ListedEvent[]): void
  /** Drops what has not been taken. */
  stop(): void
}

/** Hands on what has come since the last time, and of more than is kept the newest. */
export function gatherEvents(
  take: (events: readonly ListedEvent[]) => void,
  later: (run: () => void) => unknown = (run) => setTimeout(run, drawEveryMs),
): Gathered {
  let waiting: ListedEvent[] = []
  let isDue = false
  return {
    add(events) {
      waiting.push(...events)
      if (waiting.length > 2 * eventsKeptMax) waiting = waiting.slice(-eventsKeptMax)
      if (isDue) return
      isDue = true
      later(() => {
        isDue = false
        if (waiting.length > 0) take(waiting.splice(0))
      })
    },
    stop() {
      waiting = []
    },
  }
}

function idsOf(events: readonly ListedEvent[]): ReadonlySet<string> {
  return new Set(events.map(({ event_id }) => event_id))
}

/** The first address of an event. */
export function recipientOf({ details }: ListedEvent): string {
  const { email } = details as { readonly email?: unknown }
  if (typeof email === 'string') return email
  return Array.isArray(email) && typeof email[0] === 'string' ? email[0] : ''
}

/** Of mail that a key of test mode sent, and of test events. */
export function isTest({ details }: ListedEvent): boolean {
  return (details as { readonly test?: unknown }).test === true
}

export function textOf({ details }: ListedEvent, name: string): string {
  const value = (details as Readonly<Record<string, unknown>>)[name]
  return typeof value === 'string' ? value : ''
}
