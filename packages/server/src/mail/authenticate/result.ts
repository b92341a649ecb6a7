/** What is known of whose a received message is, in the words of RFC 8601 §2.7. */
export interface Authentication {
  readonly spf: SpfResult
  /** One for each signature that was looked at. */
  readonly dkim: readonly DkimResult[]
  readonly dmarc: DmarcResult
  readonly arc: { readonly result: string }
}

export interface SpfResult {
  readonly result: string
  /** Whose policy it was. */
  readonly domain?: string
  readonly explanation?: string
}

export interface DkimResult {
  readonly result: string
  readonly domain: string
  readonly selector: string
  readonly explanation?: string
}

export interface DmarcResult {
  readonly result: string
  /** What the domain asks for where the result is `fail`. */
  readonly policy?: string
  /** Of the author. */
  readonly domain?: string
}
