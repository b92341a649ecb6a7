/** What is known of whose a received message is, in the words of RFC 8601 §2.7. */
export interface Authentication {
  readonly spf: SpfResult
  /** One for each signature that was looked at. */
  readonly dkim: DkimResult[]
  readonly dmarc: DmarcResult
  readonly arc: { readonly result: string }
}

/** Types, not interfaces: they become JSON as they are. */
export type SpfResult = {
  readonly result: string
  /** Whose policy it was. */
  readonly domain?: string
  readonly explanation?: string
}

export type DkimResult = {
  readonly result: string
  readonly domain: string
  readonly selector: string
  /** It does not cover the whole body (`l=`): what follows may be anybody's. */
  readonly partial?: true
  readonly explanation?: string
}

export type DmarcResult = {
  readonly result: string
  /** What the domain asks for where the result is `fail`. */
  readonly policy?: string
  /** Of the author. */
  readonly domain?: string
}
