/**
 * Mail as it is received, by whichever door: what ingest stores before anything is answered.
 */

/** From here on a message is large: it has commits, places and a memory apart from those of small ones. */
export const LARGE_BYTES = 512 * 1024

/**
 * What an SMTP client said of it, RFC 5321; as `envelope` in INCOMING_EMAIL
 * (docs/reference/events.md#incoming-email).
 */
export interface Envelope {
  /** '' for a report. */
  readonly from: string
  readonly to: readonly string[]
  readonly remoteIp: string
  readonly helo: string
  readonly isTls: boolean
}

/** A route that takes some of the recipients (docs/reference/inbound.md#routes). */
export interface InboundRoute {
  readonly tenantId: string
  /** In wire form. */
  readonly domain: string
  /** '' for the domain's own. */
  readonly username: string
  /** Whose webhook takes it: `<domain>/<username>`, of a domain or a username without one `<domain>/`. */
  readonly owner: string
}

/** One SMTP transaction. */
export interface SmtpMail {
  readonly raw: Buffer
  readonly envelope: Envelope
  /** Each with its recipients, out of `envelope.to`. */
  readonly routes: readonly { readonly route: InboundRoute; readonly to: readonly string[] }[]
  readonly receivedAtMicros: bigint
}

/** One message of a mailbox. */
export interface MailboxMail {
  readonly raw: Buffer
  readonly tenantId: string
  readonly mailerId: string
  readonly folder: string
  /** The server's own name of the conversation, such as Gmail's. */
  readonly serverThread?: string
  /** Why `raw` is not the whole of it. */
  readonly problem?: string
  readonly receivedAtMicros: bigint
}
