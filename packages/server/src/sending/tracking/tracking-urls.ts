/**
 * The port to the code that makes tracking URLs (docs/reference/sending.md#tracking, "Public"): the pixel,
 * the redirect of a link, the page that unsubscribes.
 */

/** Whose copy of an email. */
export interface TrackedRecipient {
  readonly tenantId: string
  readonly refId: string
  /** Its place in the order of acceptance, from 0. */
  readonly n: number
}

/**
 * Absolute URLs of printable ASCII without quotation marks, `=`, `&`, `<`, `>` and `%`. They depend on
 * nothing but what they are made for, so that every attempt sends the same; those of one kind are of
 * one length for all recipients and links of an email, for they are written over each other.
 */
export interface TrackingUrls {
  openUrl(who: TrackedRecipient): string
  /** `link` counts from 0: a URL that occurs several times is one link. */
  clickUrl(who: TrackedRecipient, link: number): string
  unsubscribeUrl(who: TrackedRecipient): string
}
