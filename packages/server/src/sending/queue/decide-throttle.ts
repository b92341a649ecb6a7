/**
 * Decides how a mailer is used after its server has said that it is sent too much: half the
 * connections, after a pause that doubles with each further refusal; and one connection more, after
 * half the pause, for each while without one.
 *
 * Kept in the memory of the process that serves the mailer. One that starts anew finds out by one
 * refusal.
 */
import type { FailureCategory } from '@postrider/mail'

export interface Slowing {
  readonly connections: number
  readonly pauseMs: number
  /** When it was last slowed down or sped up, by the monotonic clock. */
  readonly sinceMs: number
}

const PAUSE_MS_MIN = 2_000
const PAUSE_MS_MAX = 120_000
/** What a server asks for is believed up to this. */
const ASKED_MS_MAX = 3_600_000
const CALM_MS = 30_000

export function isRateRefusal(category: FailureCategory): boolean {
  return RATE_REFUSALS.has(category)
}

const RATE_REFUSALS: ReadonlySet<FailureCategory> = new Set([
  'sender_rate_limited',
  'sender_concurrency_limited',
  'blocked_rate',
  'auth_throttled',
])

/** After a refusal of an attempt that began at `begunMs`. */
export function slowDown(
  before: Slowing | undefined,
  o: {
    readonly connectionsMax: number
    readonly begunMs: number
    readonly nowMs: number
    /** By the server's own words. */
    readonly askedMs?: number | undefined
  },
): Slowing {
  const asked = Math.min(o.askedMs ?? 0, ASKED_MS_MAX)
  if (before === undefined) {
    const pauseMs = Math.max(PAUSE_MS_MIN, asked)
    return { connections: half(o.connectionsMax), pauseMs, sinceMs: o.nowMs }
  }
  // Those that were under way together hear the same refusal: it counts once.
  const isSame = o.begunMs < before.sinceMs
  const pauseMs = isSame ? before.pauseMs : Math.min(before.pauseMs * 2, PAUSE_MS_MAX)
  return {
    connections: isSame ? before.connections : half(before.connections),
    pauseMs: Math.max(pauseMs, asked),
    sinceMs: isSame && asked <= before.pauseMs ? before.sinceMs : o.nowMs,
  }
}

/** After an attempt that was not refused; undefined when it is slow no more. */
export function speedUp(
  before: Slowing,
  o: { readonly connectionsMax: number; readonly nowMs: number },
): Slowing | undefined {
  if (o.nowMs - before.sinceMs < before.pauseMs + CALM_MS) return before
  const connections = before.connections + 1
  if (connections >= o.connectionsMax) return undefined
  return { connections, pauseMs: Math.max(PAUSE_MS_MIN, before.pauseMs / 2), sinceMs: o.nowMs }
}

function half(connections: number): number {
  return Math.max(1, Math.floor(connections / 2))
}
