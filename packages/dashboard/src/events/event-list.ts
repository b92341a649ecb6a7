/** The events that the live page keeps: newest first, each once, and not without end. */
import type { ListedEvent } from '@postrider/client'

export const eventsKeptMax = 1_000

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

function idsOf(events: readonly ListedEvent[]): ReadonlySet<string> {
  return new Set(events.map(({ event_id }) => event_id))
}

/** The first address of an event. */
export function recipientOf({ details }: ListedEvent): string {
  const { email } = details as { readonly email?: unknown }
  if (typeof email === 'string') return email
  return Array.isArray(email) && typeof email[0] === 'string' ? email[0] : ''
}

export function textOf({ details }: ListedEvent, name: string): string {
  const value = (details as Readonly<Record<string, unknown>>)[name]
  return typeof value === 'string' ? value : ''
}
