/**
 * Identifiers: `<prefix>_<ULID>`, and the bare ULID of an email's `ref_id` (docs/reference/http.md#ids).
 *
 * A ULID is 26 characters of Crockford's Base32 in upper case; its first character is at most 7,
 * because 26 × 5 bits are two more than the 128 that it holds.
 */
export const idPrefixes = {
  tenant: 'tn',
  apiKey: 'key',
  webhook: 'wh',
  smtpMailer: 'smtp',
  imapMailer: 'imap',
  domainMailer: 'domain',
  oauthApp: 'app',
  webhookDelivery: 'dlv',
  event: 'evt',
  inboundMessage: 'in',
  template: 'tpl',
  user: 'user',
  session: 'ses',
} as const

export type IdPrefix = (typeof idPrefixes)[keyof typeof idPrefixes]

/** `wh_01J…`; only the prefix is known to the compiler. */
export type PrefixedId<P extends IdPrefix = IdPrefix> = `${P}_${string}`

const ulidBody = '[0-7][0-9A-HJKMNP-TV-Z]{25}'

export const ulidPattern = `^${ulidBody}$`

export function idPatternOf(prefix: IdPrefix): string {
  return `^${prefix}_${ulidBody}$`
}

const ulidExpression = new RegExp(ulidPattern)

export function isUlid(text: string): boolean {
  return ulidExpression.test(text)
}

export function isId<P extends IdPrefix>(prefix: P, text: string): text is PrefixedId<P> {
  return text.startsWith(`${prefix}_`) && isUlid(text.slice(prefix.length + 1))
}
