/**
 * Large messages that this process has just stored, as they are, for whoever reports them in the same
 * process: to have one of 25 MB back from the database takes it as long as all else there is to do with it.
 *
 * Nothing rests on it: what has no place, or was not asked for in time, is read from the database.
 */
import { LARGE_BYTES } from './received-mail.ts'

export interface RecentRaws {
  keep(inboundIds: readonly string[], raw: Buffer): void
  /** Once. */
  take(inboundId: string): Buffer | undefined
}

const BYTES_MAX = 64 * 1024 * 1024
const KEPT_MS = 10_000

export function createRecentRaws(): RecentRaws {
  const kept = new Map<string, { readonly raw: Buffer; readonly timer: NodeJS.Timeout }>()
  let bytes = 0

  function take(inboundId: string): Buffer | undefined {
    const one = kept.get(inboundId)
    if (one === undefined) return undefined
    clearTimeout(one.timer)
    kept.delete(inboundId)
    bytes -= one.raw.length
    return one.raw
  }

  return {
    keep(inboundIds, raw) {
      if (raw.length < LARGE_BYTES) return
      for (const id of inboundIds) {
        if (bytes + raw.length > BYTES_MAX) return
        bytes += raw.length
        kept.set(id, { raw, timer: setTimeout(() => take(id), KEPT_MS).unref() })
      }
    },
    take,
  }
}
