/**
 * The addresses that stand in a recipient's message (docs/reference/http.md#public-paths): of the pixel, of a
 * link, and for unsubscribing. The same each time they are made, so every attempt sends the same message.
 */
import type { TrackingUrls } from '../sending/index.ts'
import type { TrackingTokens } from './tokens.ts'

export function createTrackingUrls(o: {
  readonly tokens: Pick<TrackingTokens, 'make'>
  /** What recipients' browsers reach, without a slash at the end. */
  readonly publicUrl: string
}): TrackingUrls {
  const { tokens, publicUrl } = o
  return {
    openUrl: (who) => `${publicUrl}/t/o/${tokens.make({ ...who, link: 0, kind: 'open' })}.gif`,
    clickUrl: (who, link) => `${publicUrl}/t/c/${tokens.make({ ...who, link, kind: 'click' })}`,
    unsubscribeUrl: (who) =>
      `${publicUrl}/t/u/${tokens.make({ ...who, link: 0, kind: 'unsubscribe' })}`,
  }
}
