/**
 * What a server's EHLO reply offers (RFC 1870 SIZE, RFC 2920 PIPELINING, RFC 3207 STARTTLS, RFC 3461
 * DSN, RFC 4954 AUTH, RFC 6152 8BITMIME, RFC 6531 SMTPUTF8). A reply to HELO offers nothing.
 */
export interface Capabilities {
  /** Undefined where the server names no limit; 0 in RFC 1870 §4 means that too. */
  readonly messageBytesMax: number | undefined
  /** Offered at all: MAIL may then declare the message's size. */
  readonly hasSize: boolean
  readonly hasPipelining: boolean
  readonly has8BitMime: boolean
  readonly hasSmtpUtf8: boolean
  readonly hasDsn: boolean
  readonly hasStartTls: boolean
  readonly hasEnhancedStatusCodes: boolean
  /** In capitals; empty where no login is offered. */
  readonly authMechanisms: readonly string[]
}

export const NO_CAPABILITIES: Capabilities = readCapabilities([])

export function readCapabilities(ehloLines: readonly string[]): Capabilities {
  const keywords = new Set<string>()
  const authMechanisms: string[] = []
  let messageBytesMax: number | undefined
  for (const line of ehloLines.slice(1)) {
    // Old servers write `AUTH=LOGIN`.
    const [keyword = '', ...parameters] = line
      .slice(4)
      .trim()
      .toUpperCase()
      .split(/[\s=]+/)
    keywords.add(keyword)
    if (keyword === 'AUTH') authMechanisms.push(...parameters)
    if (keyword === 'SIZE' && /^[1-9]\d{0,15}$/.test(parameters[0] ?? ''))
      messageBytesMax = Number(parameters[0])
  }
  return {
    messageBytesMax,
    hasSize: keywords.has('SIZE'),
    hasPipelining: keywords.has('PIPELINING'),
    has8BitMime: keywords.has('8BITMIME'),
    hasSmtpUtf8: keywords.has('SMTPUTF8'),
    hasDsn: keywords.has('DSN'),
    hasStartTls: keywords.has('STARTTLS'),
    hasEnhancedStatusCodes: keywords.has('ENHANCEDSTATUSCODES'),
    authMechanisms: [...new Set(authMechanisms)],
  }
}
