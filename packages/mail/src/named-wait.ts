/** How long a server asks to wait, in the words of its reply: "try again in 5 minutes". */

const NAMED =
  /\b(?:in|after|for|wait|within|next)(?: (?:at least|about|approximately|another|the next))? (\d{1,5}) ?(s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?)\b/

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 }

/** It also says "5 messages in 60 seconds": that is a rate, and as good a time to wait. */
const ASKS_TO_WAIT = /again|later|retry|wait|slow|throttl|rate|limit|too (many|fast|quick|frequent)/

/** Of a reply's words (reply-text.ts); undefined when it names none. At most a day. */
export function namedWaitMs(words: string): number | undefined {
  if (!ASKS_TO_WAIT.test(words)) return undefined
  const [, count, unit] = NAMED.exec(words) ?? []
  if (count === undefined || unit === undefined) return undefined
  const ms = Number(count) * (UNIT_MS[unit.charAt(0)] ?? 0)
  return ms > 0 ? Math.min(ms, 86_400_000) : undefined
}
