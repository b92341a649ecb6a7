/**
 * The events of a tenant as they are committed: one stream for a browser, whichever of its tabs holds the
 * lock; the others hear of it by a channel. A tab that takes the lock over goes on behind the last event that
 * it has heard of. After three failures in a row the list is asked for, too, until the stream is back.
 */
import { type ListedEvent, Postrider, type StreamedEvent } from '@postrider/client'

export type FeedState = 'connecting' | 'live' | 'reconnecting' | 'polling'

/** What tabs tell each other. */
type Message =
  | { readonly kind: 'events'; readonly events: readonly ListedEvent[] }
  | { readonly kind: 'gap'; readonly count: number | null }
  | { readonly kind: 'state'; readonly state: FeedState }
  | { readonly kind: 'hello' }

export interface Listener {
  onEvents(events: readonly ListedEvent[]): void
  /** null: it is not known how many. */
  onGap(count: number | null): void
  onState(state: FeedState): void
}

const failuresMax = 3
const pollMs = 10_000
const firstPage = 100

/** Ends when the answer is called. */
export function followEvents(tenantId: string, listener: Listener): () => void {
  const name = `postrider.live.${tenantId}`
  const channel = new BroadcastChannel(name)
  const ending = new AbortController()
  const { signal } = ending
  let last: string | undefined
  let state: FeedState = 'connecting'
  let isLeader = false
  channel.onmessage = ({ data }: MessageEvent<Message>) => {
    if (data.kind === 'hello' && isLeader) channel.postMessage({ kind: 'state', state })
    hear(data)
  }
  channel.postMessage({ kind: 'hello' } satisfies Message)

  function hear(message: Message): void {
    if (message.kind === 'events') {
      last = message.events.at(-1)?.event_id ?? last
      listener.onEvents(message.events)
    }
    if (message.kind === 'gap') listener.onGap(message.count)
    if (message.kind === 'state') {
      state = message.state
      listener.onState(state)
    }
  }

  function tell(message: Message): void {
    hear(message)
    channel.postMessage(message)
  }

  /** The client comes back by itself: each request is watched here. */
  let failures = 0
  const watched: typeof fetch = async (input, init) => {
    try {
      const answer = await fetch(input, init)
      if (answer.ok) {
        failures = 0
        tell({ kind: 'state', state: 'live' })
      } else failed()
      return answer
    } catch (error) {
      failed()
      throw error
    }
  }
  function failed(): void {
    failures += 1
    tell({ kind: 'state', state: failures >= failuresMax ? 'polling' : 'reconnecting' })
  }
  const streaming = new Postrider({
    session: true,
    tenant: tenantId,
    fetch: watched,
    maxRetries: 0,
  })
  const listing = new Postrider({ session: true, tenant: tenantId, maxRetries: 0 })

  async function poll(): Promise<void> {
    try {
      const { events } = await listing.listEvents({ pageSize: firstPage }, { signal })
      tell({ kind: 'events', events: events.toReversed() })
    } catch {
      // The next one tries again; the state says that the service is away.
    }
  }

  async function lead(): Promise<void> {
    isLeader = true
    // The stream begins where this list ends: nothing falls between.
    if (last === undefined) await poll()
    const polling = setInterval(() => state === 'polling' && void poll(), pollMs)
    try {
      for await (const item of streaming.streamEvents(
        {},
        { signal, ...(last !== undefined && { lastEventId: last }) },
      ))
        tell(messageOf(item))
    } finally {
      clearInterval(polling)
    }
  }

  void navigator.locks
    .request(name, { signal }, lead)
    .catch(() => !signal.aborted && listener.onState('reconnecting'))
  return () => {
    ending.abort()
    channel.close()
  }
}

function messageOf(item: StreamedEvent): Message {
  return item.event === 'gap'
    ? { kind: 'gap', count: item.count }
    : { kind: 'events', events: [item] }
}
