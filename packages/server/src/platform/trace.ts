/**
 * W3C Trace Context, `traceparent` only: `00-<trace id>-<span id>-<flags>`.
 *
 * A request continues the caller's trace or starts one; what it stores (an email, an event) and
 * sends (a webhook request) carries the same trace id with span ids of their own.
 */
import { randomFillSync } from 'node:crypto'

export interface TraceContext {
  readonly traceId: string
  readonly spanId: string
  readonly flags: string
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const ZERO_TRACE = '0'.repeat(32)
const ZERO_SPAN = '0'.repeat(16)

/**
 * Reads a header. A version other than `00` is read by its first four fields, as the
 * recommendation asks; whatever is not valid reads as absent.
 */
export function parseTraceparent(header: string | undefined): TraceContext | undefined {
  if (header === undefined || header.length > 512) return undefined
  const match = TRACEPARENT.exec(header)
  if (match === null) return undefined
  const [, version, traceId, spanId, flags, rest] = match
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined
  if (version === 'ff' || (version === '00' && rest !== undefined)) return undefined
  if (traceId === ZERO_TRACE || spanId === ZERO_SPAN) return undefined
  return { traceId, spanId, flags }
}

/** A new span: in the caller's trace when the header is valid, else in a new, sampled one. */
export function continueTrace(header: string | undefined): string {
  const parent = parseTraceparent(header)
  return parent === undefined
    ? `00-${randomHex(16)}-${randomHex(8)}-01`
    : `00-${parent.traceId}-${randomHex(8)}-${knownFlags(parent.flags)}`
}

export function startTrace(): string {
  return continueTrace(undefined)
}

/** With the flag that says whether spans of the trace are recorded. */
export function withSampled(traceparent: string, isSampled: boolean): string {
  const others = Number.parseInt(traceparent.slice(-2), 16) & 0x02
  return `${traceparent.slice(0, -2)}0${others | (isSampled ? 1 : 0)}`
}

/** Only the flags that version 00 defines (sampled, random) are passed on. */
function knownFlags(flags: string): string {
  return `0${(Number.parseInt(flags, 16) & 0x03).toString(16)}`
}

/** Randomness is drawn in blocks: one system call for hundreds of spans. */
const block = Buffer.allocUnsafe(8192)
let used = block.length

function randomHex(bytes: number): string {
  for (;;) {
    if (used + bytes > block.length) {
      randomFillSync(block)
      used = 0
    }
    const hex = block.toString('hex', used, used + bytes)
    used += bytes
    if (!/^0+$/.test(hex)) return hex
  }
}
