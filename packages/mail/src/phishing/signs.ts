/**
 * The signs of phishing and what each weighs. A score is the sum of the weights, one sign of each
 * kind, at most 100; with the default threshold of 60
 * - what ordinary mail never has (a password field, an imitated host, a brand's address over another
 *   link) stops a mail by itself;
 * - what ordinary mail has at times (a tracked link, a numeric host, a brand in the sender's name)
 *   takes two or three of a kind with it.
 * `phishing-samples.test.ts` and `ordinary-mail.test.ts` hold both ends.
 */
export const signWeights = {
  /** A link's text is an address of a guarded brand; it leads neither there nor to the sender. */
  brand_link_elsewhere: 65,
  /** The same, where the text only names the brand's host, or the link leads to the sender. */
  brand_named_link_elsewhere: 25,
  /** A link's text is another site's address. Click tracking looks the same. */
  link_elsewhere: 15,
  /** Letters of other scripts that look like a brand's name. */
  homograph_host: 80,
  /** Digits and letters that look like a brand's name. */
  imitated_host: 65,
  /** A brand's whole domain in front of another: paypal.com.example.net. */
  embedded_brand_host: 65,
  /** A brand's name beside words such as "login" in another's domain. */
  brand_bait_host: 45,
  /** A brand's name in another's domain. */
  brand_in_host: 20,
  /** One letter away from a brand's name. */
  near_brand_host: 25,
  /** Latin with Cyrillic, Greek or the like in one label. */
  mixed_script_host: 60,
  /** 0x7f.1, 2130706433: there is no reason but to hide it. */
  disguised_address: 65,
  numeric_host: 30,
  /** https://www.example.com@elsewhere.example */
  host_before_at: 70,
  user_before_at: 25,
  password_field: 70,
  /** Card number, security code, one-time code. */
  secret_field: 50,
  form_elsewhere: 15,
  script_link: 60,
  data_link: 75,
  file_link: 25,
  overlong_link: 60,
  refresh: 45,
  /** The sender's name is a brand's and the address is not. */
  brand_sender: 40,
  /** The sender's name holds an address of another domain. */
  address_in_sender: 20,
  /** Several sites can lead anywhere; ordinary mail is full of them. */
  link_in_link: 3,
  short_link: 5,
} as const

export type SignKind = keyof typeof signWeights | 'rspamd'

export interface Sign {
  readonly kind: SignKind
  /** How much it adds to the score; signs of one kind count once, at their heaviest. */
  readonly weight: number
  /** What was seen, for the tenant: one line of ASCII. */
  readonly reason: string
}

/** What comes from content is cut: a reason is one line that fits into a log. */
const SHOWN_CHARS_MAX = 80

export function sign(kind: keyof typeof signWeights, reason: string): Sign {
  return { kind, weight: signWeights[kind], reason }
}

/** For reasons: ASCII without control characters, not too long. */
export function shown(text: string): string {
  const plain = text.slice(0, SHOWN_CHARS_MAX + 1).replaceAll(/[^\x21-\x7e]/g, '?')
  return plain.length > SHOWN_CHARS_MAX ? `${plain.slice(0, SHOWN_CHARS_MAX)}...` : plain
}

/** The heaviest of each kind, heaviest first. */
export function heaviest(signs: readonly Sign[]): Sign[] {
  const ofKind = new Map<SignKind, Sign>()
  for (const one of signs) {
    const known = ofKind.get(one.kind)
    if (known === undefined || known.weight < one.weight) ofKind.set(one.kind, one)
  }
  return [...ofKind.values()].sort((a, b) => b.weight - a.weight)
}
