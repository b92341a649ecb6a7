/**
 * The addresses that stand in a recipient's message (contract §3): of the pixel, of a link, and for
 * unsubscribing. The same each time they are made, so every attempt sends the same message.
 */
import type { TrackedRecipient, TrackingTokens } from './tokens.ts'

type Recipient = Omit<TrackedRecipient, 'link'>

export interface TrackingUrls {
  openUrl(who: Recipient): string
  /** @param link the link's place in the email, from 0 */
  clickUrl(who: Recipient, link: number): string
  unsubscribeUrl(who: Recipient): string
}

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
