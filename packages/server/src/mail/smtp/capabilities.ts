/**
 * What a server's EHLO reply says about transactions (RFC 1870 SIZE, RFC 6152 8BITMIME, RFC 6531
 * SMTPUTF8). A reply to HELO has one line and says nothing.
 */
export interface Capabilities {
  /** Undefined where the server names no limit; 0 in RFC 1870 §4 means that too. */
  readonly messageBytesMax: number | undefined
  readonly hasSmtpUtf8: boolean
}

export function capabilitiesOf(ehloReply: string): Capabilities {
  let messageBytesMax: number | undefined
  let hasSmtpUtf8 = false
  for (const line of ehloReply.split('\n').slice(1)) {
    const [keyword = '', parameter = ''] = line.slice(4).trim().toUpperCase().split(/\s+/)
    if (keyword === 'SMTPUTF8') hasSmtpUtf8 = true
    if (keyword === 'SIZE' && /^[1-9]\d{0,15}$/.test(parameter)) messageBytesMax = Number(parameter)
  }
  return { messageBytesMax, hasSmtpUtf8 }
}
