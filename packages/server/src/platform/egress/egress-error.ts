/**
 * The one error of everything that leaves this process for a tenant's host.
 *
 * `code` is what callers decide by, `systemCode` (ECONNREFUSED, ENOTFOUND, DEPTH_ZERO_SELF_SIGNED_CERT,
 * …) what they may show. Messages name the host as the tenant wrote it and never an address that it
 * resolved to, so that an error text says nothing about the network that this process stands in.
 */
export type EgressErrorCode =
  | 'address_refused'
  | 'dns'
  | 'connect'
  | 'tls'
  | 'timeout'
  | 'reset'
  | 'protocol'
  | 'aborted'
  /** Nothing was tried: this process does as much at once as it may. */
  | 'busy'
  | 'too_large'

export class EgressError extends Error {
  override readonly name = 'EgressError'
  readonly code: EgressErrorCode
  readonly systemCode?: string
  /** The response status, where a response had begun when the request failed. */
  status?: number
  timings?: RequestTimings
  /** A connection that had been kept was closed before a byte of the answer: nothing else may be wrong. */
  wasKept?: true
  /** The request has gone out: the peer may have read it. Absent: it surely does not have all of it. */
  wasWritten?: true

  constructor(
    code: EgressErrorCode,
    message: string,
    o: { readonly systemCode?: string | undefined; readonly cause?: unknown } = {},
  ) {
    super(message, o.cause === undefined ? undefined : { cause: o.cause })
    this.code = code
    if (o.systemCode !== undefined) this.systemCode = o.systemCode
  }
}

/** Whole milliseconds of each step; a step that did not happen (a reused connection) is absent. */
export interface RequestTimings {
  dnsMs?: number
  connectMs?: number
  tlsMs?: number
  firstByteMs?: number
  totalMs: number
}

/** The `code` of a Node system error, a TLS error or an undici error. */
export function systemCodeOf(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : undefined
}
