/**
 * The Location header for a URL as it stands in an email: as it is, unless a header cannot hold it;
 * then as a browser resolves it (WHATWG URL), host as A-labels. Undefined where it is no web
 * address: what `javascript:` and the like would do there is nobody's wish.
 */
export function locationOf(url: string): string | undefined {
  if (!/^https?:\/\/[^/]/i.test(url)) return undefined
  return /^[\x21-\x7e]+$/.test(url) ? url : URL.parse(url)?.href
}
