/**
 * Which streams have sent something a moment ago: they stay active for as long, so that what is recorded
 * next need not make them active again. The sweep comes back to them, and lets them rest.
 */
export interface LastRequests {
  made(webhookId: string): void
  isRecent(webhookId: string): boolean
}

/** A sweep is a second after the other. */
const RECENT_MS = 900
/** Of a few bytes; when it is full it is emptied. */
const STREAMS_MAX = 20_000

export function createLastRequests(
  monotonicMs: () => number = () => performance.now(),
): LastRequests {
  const streams = new Map<string, number>()
  return {
    made(webhookId) {
      if (streams.size >= STREAMS_MAX) streams.clear()
      streams.set(webhookId, monotonicMs())
    },
    isRecent(webhookId) {
      const madeMs = streams.get(webhookId)
      if (madeMs === undefined) return false
      if (monotonicMs() - madeMs < RECENT_MS) return true
      streams.delete(webhookId)
      return false
    },
  }
}
