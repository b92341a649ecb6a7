/**
 * The Location header for a URL as it stands in an email: as it is, but that what a header cannot
 * hold is percent-encoded, as a browser does it. Undefined where it is no web address: what
 * `javascript:` and the like would do there is nobody's wish.
 */
export function locationOf(url: string): string | undefined {
  if (!/^https?:\/\/[^/]/i.test(url)) return undefined
  return url.toWellFormed().replace(/[^\x21-\x7e]+/g, encodeURIComponent)
}
