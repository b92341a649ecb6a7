/** What a provider's fake has taken: one for each envelope recipient, as its reader would get it. */
export interface RelayedMail {
  /** What the sender was told: the transmission's id, or `X-Message-Id`. */
  readonly id: string
  /** As events name it. */
  readonly messageId: string
  /** The envelope recipient as given. */
  readonly to: string
  readonly from: { readonly email: string; readonly name?: string }
  readonly replyTo?: string
  readonly subject: string
  readonly text?: string
  readonly html?: string
  /** Every header of the message that is known, `To` and `Cc` among them; names as given. */
  readonly headers: Readonly<Record<string, string>>
  readonly attachments: readonly RelayedAttachment[]
  /** What comes back with each event: metadata, or custom arguments. */
  readonly meta: Readonly<Record<string, unknown>>
  readonly campaignId?: string
  /** The request's body. */
  readonly request: unknown
}

export interface RelayedAttachment {
  readonly filename: string
  readonly type: string
  readonly content: Buffer
  readonly isInline: boolean
  readonly contentId?: string
}

/** Of the first header of that name, whatever its case. */
export function headerOf(mail: RelayedMail, name: string): string | undefined {
  const wanted = name.toLowerCase()
  return Object.entries(mail.headers).find(([given]) => given.toLowerCase() === wanted)?.[1]
}
