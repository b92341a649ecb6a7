/**
 * A hit: one request for a pixel, a link, or to unsubscribe, with a token of ours. Everything that is
 * known from the request alone, so that it can be kept in a file while the database is away.
 */
import type { TokenKind, TrackedRecipient } from '../tokens.ts'

export interface Hit extends TrackedRecipient {
  /** A ULID, made when the request came: however often it is recorded, it counts once. */
  readonly hitId: string
  readonly kind: TokenKind
  readonly atMicros: bigint
  /** '' where it is not known. */
  readonly ip: string
  /** As sent, up to 512 characters. */
  readonly userAgent: string
  /** Of the headers by which a program says that it loads ahead; '' without. */
  readonly purpose: string
}

/** What came of it. */
export type HitOutcome =
  | { readonly kind: 'recorded'; readonly url?: string }
  /** Unsubscribing again: nothing has changed, so nothing is told. */
  | { readonly kind: 'repeated' }
  /** Its email is no longer kept. */
  | { readonly kind: 'gone' }

export function hitToJson(hit: Hit): string {
  return JSON.stringify({ ...hit, atMicros: String(hit.atMicros) })
}

/** Of what `hitToJson` made. */
export function hitFromJson(json: string): Hit {
  const hit = JSON.parse(json) as Omit<Hit, 'atMicros'> & { atMicros: string }
  return { ...hit, atMicros: BigInt(hit.atMicros) }
}
