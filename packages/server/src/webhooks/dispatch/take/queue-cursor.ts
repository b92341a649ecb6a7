/**
 * Below which id nothing is queued for a stream, as far as this process knows.
 *
 * The rows of events that were taken stay in the index until no transaction anywhere can see them: a
 * look that begins at the first id reads all of them. So a look begins at the last id that was taken,
 * yet no later than a minute ago, since a writer that commits late adds older ids. Once a minute, and
 * when something is left though nothing is found, it begins at the first id: what a slower writer added is found then.
 *
 * A replay queues events of any age, at any time: among replayed ones a look begins at the last id only
 * while one look after the other finds some.
 */
import { ulidAtTime } from '../../../platform/ids.ts'

/** By lane. */
export type QueueCursorIds = readonly [live: string, replayed: string]

export interface LanePointer {
  readonly lane: number
  readonly event_id: string
}

export interface QueueCursor {
  of(webhookId: string): QueueCursorIds
  /** These were taken by one look, in the order of each lane. */
  taken(webhookId: string, pointers: readonly LanePointer[]): void
  /** Nothing was found. True when replayed ones are to be looked for from the first id on. */
  foundNothing(webhookId: string): boolean
  reset(webhookId: string): void
}

const LATE_MS_MAX = 60_000
const RESET_MS = 60_000
/** Of a hundred bytes or two; when it is full it is emptied. */
const STREAMS_MAX = 20_000
const FROM_THE_FIRST: QueueCursorIds = ['', '']

export function createQueueCursor(nowMs: () => number = Date.now): QueueCursor {
  const streams = new Map<string, { ids: [string, string]; readonly sinceMs: number }>()
  return {
    of(webhookId) {
      const known = streams.get(webhookId)
      if (known === undefined) return FROM_THE_FIRST
      const ageMs = nowMs() - known.sinceMs
      if (ageMs >= 0 && ageMs < RESET_MS) return known.ids
      streams.delete(webhookId)
      return FROM_THE_FIRST
    },
    taken(webhookId, pointers) {
      let known = streams.get(webhookId)
      if (known === undefined) {
        if (streams.size >= STREAMS_MAX) streams.clear()
        known = { ids: ['', ''], sinceMs: nowMs() }
        streams.set(webhookId, known)
      }
      const latest = `evt_${ulidAtTime(nowMs() - LATE_MS_MAX)}`
      const lastOf = (lane: number) => {
        const id = pointers.findLast((pointer) => pointer.lane === lane)?.event_id
        return id === undefined || id < latest ? id : latest
      }
      known.ids[0] = lastOf(0) ?? known.ids[0]
      known.ids[1] = lastOf(1) ?? ''
    },
    foundNothing(webhookId) {
      const known = streams.get(webhookId)
      if (known === undefined || known.ids[1] === '') return false
      known.ids[1] = ''
      return true
    },
    reset: (webhookId) => {
      streams.delete(webhookId)
    },
  }
}
