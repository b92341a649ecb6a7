/**
 * By what a robot's open or click is told from a person's. Rules are tried in their order, and the
 * first that fits decides; where none does, it was a person.
 *
 * Robots of receiving mail systems follow links before, or seconds after, the message is delivered,
 * with the user agents of ordinary browsers: those are known by their behaviour only. Image proxies
 * of mail providers on the other hand fetch the pixel when somebody opens the message, so that they
 * stand for a person although lists of robots have them.
 */
export interface Engagement {
  readonly kind: 'open' | 'click'
  /** As sent. */
  readonly userAgent: string
  /** A list of robots has it. */
  readonly isKnownRobot: boolean
  /** Of Sec-Purpose, Purpose, X-Purpose and X-Moz, in lower case. */
  readonly purpose: string
  /** No attempt to send the message has ended yet. */
  readonly isBeforeDelivery: boolean
  /** Undefined where it is not known. */
  readonly sinceDeliveryMs?: number | undefined
  /** Links of this copy that were followed within two seconds, this one among them. */
  readonly linksAtOnce: number
}

export interface BotRule {
  /** Kept with each hit, and part of the trace. */
  readonly name: string
  readonly isBot: boolean
  fits(e: Engagement): boolean
}

/** From delivery to a look at the preview, and to a click, which takes longer. */
const TOO_SOON_MS = { open: 1_000, click: 3_000 } as const
export const linksAtOnceMin = 3
export const atOnceMs = 2_000

const IMAGE_PROXIES = /GoogleImageProxy|YahooMailProxy|ms-office|MSOffice|Microsoft Outlook/
/** Of security gateways and the makers of such, where isbot lacks them. */
const GATEWAYS =
  /barracuda|proofpoint|urldefense|mimecast|forcepoint|symantec|trend ?micro|sophos|zscaler/i
const EXACTLY: ReadonlySet<string> = new Set([
  // Apple's mail privacy protection, which loads everything when a message comes in.
  'Mozilla/5.0',
  // Gmail, when it looks through a message that comes in.
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/42.0.2311.135 Safari/537.36 Edge/12.246 Mozilla/5.0',
])

export const botRules: readonly BotRule[] = [
  { name: 'prefetch', isBot: true, fits: (e) => /prefetch|preview|prerender/.test(e.purpose) },
  { name: 'before_delivery', isBot: true, fits: (e) => e.isBeforeDelivery },
  {
    name: 'too_soon',
    isBot: true,
    // A time before the delivery is that of another clock.
    fits: ({ sinceDeliveryMs: ms, kind }) => ms !== undefined && ms >= 0 && ms < TOO_SOON_MS[kind],
  },
  { name: 'no_user_agent', isBot: true, fits: (e) => e.userAgent.trim() === '' },
  {
    name: 'image_proxy',
    isBot: false,
    fits: (e) => e.kind === 'open' && IMAGE_PROXIES.test(e.userAgent),
  },
  { name: 'exact_user_agent', isBot: true, fits: (e) => EXACTLY.has(e.userAgent) },
  // Apple's again, without the browser that follows in every other one.
  { name: 'no_browser', isBot: true, fits: (e) => e.userAgent.endsWith('(KHTML, like Gecko)') },
  { name: 'gateway', isBot: true, fits: (e) => GATEWAYS.test(e.userAgent) },
  { name: 'known_robot', isBot: true, fits: (e) => e.isKnownRobot },
  { name: 'links_at_once', isBot: true, fits: (e) => e.linksAtOnce >= linksAtOnceMin },
]
