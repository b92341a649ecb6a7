/**
 * An inbound domain (docs/reference/inbound.md#routes): its webhook takes the mail of its local parts, once
 * its owner has proven that it is theirs.
 *
 * Two tenants may have configured one: settle-ownership.ts says whose it is.
 */
import type { DomainKey, RecordState } from '../../domains/index.ts'
import type { Subscription } from '../../webhooks/index.ts'

export interface NewInboundDomain extends DomainKey {
  /** A ULID, made when it was configured. */
  readonly id: string
  readonly ownershipToken: string
}

export interface InboundDomain extends NewInboundDomain {
  /** By `recordKeyOf`; a record that was never looked up has none. */
  readonly recordStates: Readonly<Record<string, RecordState>>
  readonly verifiedAt?: Date
  /** Somebody else has proven it. */
  readonly isTaken: boolean
  /** An MX alone proves it for nobody: another tenant has configured it too, or has a domain above it. */
  readonly isContested: boolean
  readonly checkedAt?: Date
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** With the webhook that takes its mail. */
export interface RoutedDomain {
  readonly domain: InboundDomain
  readonly webhook: Subscription
}

/** A route that was made or changed. */
export type Made<Routed> = Routed & {
  /** When the change made a secret: shown once. */
  readonly signingSecret?: string | undefined
}

export interface UsernameKey extends DomainKey {
  readonly username: string
}

/** A route of its own for one local part. */
export interface InboundUsername extends UsernameKey {
  /** A ULID, made when it was created. */
  readonly id: string
  /** Null: the domain's. */
  readonly url: string | null
  /** Of its own; without one its mail goes by the domain's. */
  readonly hasWebhook: boolean
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** With the webhook that takes its mail, its own or the domain's. */
export interface RoutedUsername {
  readonly username: InboundUsername
  readonly webhook: Subscription
}
