/**
 * A webhook delivery while it is open: its content is frozen and not settled
 * (docs/reference/webhooks.md#retries).
 *
 * It is a row of `webhooks_open`: the current one of its stream (`webhooks_stream.delivery_id`), or one
 * that waits for its turn there (a half of a divided delivery, a parked event).
 */
import type { StreamKey } from '../stream-store.ts'

export interface FrozenContent {
  readonly eventIds: readonly string[]
  /** Of each event, the day that holds it. */
  readonly eventDays: readonly string[]
  readonly traceparent: string
}

export interface OpenDelivery extends StreamKey, FrozenContent {
  readonly deliveryId: string
  /** The webhook's when its events were queued. */
  readonly generation: number
  /** Requests made so far. */
  readonly attempts: number
  /** Its only event was refused alone. */
  readonly isParked: boolean
  /** Since it was frozen, by the database's clock. */
  readonly ageMs: number
}

/** Where a request goes; read anew for each. */
export interface Target {
  readonly url: string
  readonly headersSealed: string
  /** Of a webhook that is signed. */
  readonly signingSealed?: string | undefined
}

export type BodyMode = 'array' | 'single'

/** An event as the log keeps it. */
export interface LoggedEvent {
  readonly eventId: string
  readonly day: string
  /** Emptied once it is part of a request. */
  body: string
  readonly traceparent: string
}
