/**
 * Decides how many messages a mailer may send now, by its limits and by what it was permitted
 * before: never more than so many within any second, any minute and any 24 hours.
 *
 * Permissions are kept as spans: `[first, last, count]` in milliseconds, of at most `spanMs`. A span
 * leaves its window as a whole, when its last permission does: so a window needs few of them, and
 * where they are inexact less is permitted, never more.
 */
import type { EffectiveLimits } from '@postrider/contract'

export type Span = readonly [firstMs: number, lastMs: number, count: number]
export type WindowName = 'second' | 'minute' | 'day'
export type Used = { readonly [K in WindowName]?: readonly Span[] }

interface Window {
  readonly name: WindowName
  readonly limit: 'per_second' | 'per_minute' | 'per_day'
  readonly lengthMs: number
  readonly spanMs: number
}

const WINDOWS: readonly Window[] = [
  // A little longer: what was permitted just before may come to the server just after.
  { name: 'second', limit: 'per_second', lengthMs: 1_050, spanMs: 100 },
  { name: 'minute', limit: 'per_minute', lengthMs: 60_000, spanMs: 2_000 },
  { name: 'day', limit: 'per_day', lengthMs: 86_400_000, spanMs: 1_800_000 },
]

export type Rates = Pick<EffectiveLimits, 'per_second' | 'per_minute' | 'per_day'>

export interface Permission {
  readonly count: number
  /** When none is permitted: until one may be; else 0. */
  readonly waitMs: number
}

export function hasRates(limits: Rates): boolean {
  return WINDOWS.some(({ limit }) => limits[limit] !== undefined)
}

/** `wanted` of at least 1. */
export function decidePermission(
  limits: Rates,
  used: Used,
  o: { readonly wanted: number; readonly nowMs: number },
): Permission {
  let count = o.wanted
  let waitMs = 0
  for (const window of WINDOWS) {
    const most = limits[window.limit]
    if (most === undefined) continue
    const spans = spansWithin(window, used, o.nowMs)
    const free = Math.max(0, most - sum(spans))
    count = Math.min(count, free)
    if (free === 0) waitMs = Math.max(waitMs, waitOf(window, spans, { most, ...o }))
  }
  return { count, waitMs }
}

export interface UsedLimit {
  readonly name: 'per_second' | 'per_minute' | 'per_day'
  readonly limit: number
  /** Within the time that the limit looks back on. */
  readonly used: number
  /** Until it permits the next message; 0: now. */
  readonly waitMs: number
}

/** How far each limit is used up. */
export function usedOf(limits: Rates, used: Used, nowMs: number): UsedLimit[] {
  return WINDOWS.flatMap((window) => {
    const most = limits[window.limit]
    if (most === undefined) return []
    const spans = spansWithin(window, used, nowMs)
    const isFree = sum(spans) < most
    const waitMs = isFree ? 0 : Math.round(waitOf(window, spans, { most, nowMs }))
    return [{ name: window.limit, limit: most, used: sum(spans), waitMs }]
  })
}

/**
 * Whether the limits alone explain that mail has been due for so long. Within that time a mailer
 * that uses at least half of a limit is at most twice as slow as the limit asks for. A limit over a
 * longer time makes mail wait when all of it is used.
 */
export function explainsWait(
  limits: Rates,
  used: Used,
  o: { readonly dueForMs: number; readonly nowMs: number },
): boolean {
  return WINDOWS.some((window) => {
    const most = limits[window.limit]
    if (most === undefined) return false
    const needed = window.lengthMs <= o.dueForMs ? most / 2 : most
    return sum(spansWithin(window, used, o.nowMs)) >= needed
  })
}

/** Until less than the limit is used: a limit that was lowered may ask for several spans to leave. */
function waitOf(
  { lengthMs }: Window,
  spans: readonly Span[],
  { most, nowMs }: { readonly most: number; readonly nowMs: number },
): number {
  let left = sum(spans)
  for (const [, lastMs, count] of spans) {
    left -= count
    if (left < most) return Math.max(1, lastMs + lengthMs - nowMs)
  }
  return lengthMs
}

/** What is used when so many are permitted now; what has left its window is dropped. */
export function withPermitted(limits: Rates, used: Used, count: number, nowMs: number): Used {
  const windows = WINDOWS.filter(({ limit }) => limits[limit] !== undefined)
  const entries = windows.map((window): [WindowName, readonly Span[]] => {
    const spans = spansWithin(window, used, nowMs)
    const last = spans.at(-1)
    if (last === undefined || nowMs - last[0] >= window.spanMs)
      return [window.name, [...spans, [nowMs, nowMs, count]]]
    const [firstMs, lastMs, before] = last
    const grown: Span = [firstMs, Math.max(lastMs, nowMs), before + count]
    return [window.name, [...spans.slice(0, -1), grown]]
  })
  return Object.fromEntries(entries)
}

/** What is used when so many that were permitted at `permittedMs` were not needed. */
export function withReturned(used: Used, count: number, permittedMs: number): Used {
  const entries = Object.entries(used).map(([name, spans]) => [
    name,
    spans.flatMap((span): Span[] => {
      const [firstMs, lastMs, before] = span
      if (permittedMs < firstMs || permittedMs > lastMs) return [span]
      return before > count ? [[firstMs, lastMs, before - count]] : []
    }),
  ])
  return Object.fromEntries(entries)
}

/** The oldest first. A clock that was set back leaves spans of the future: those count as of now. */
function spansWithin({ name, lengthMs }: Window, used: Used, nowMs: number): readonly Span[] {
  return (used[name] ?? [])
    .map(([first, last, n]): Span => [Math.min(first, nowMs), Math.min(last, nowMs), n])
    .filter(([, lastMs]) => lastMs > nowMs - lengthMs)
}

function sum(spans: readonly Span[]): number {
  return spans.reduce((total, [, , count]) => total + count, 0)
}
