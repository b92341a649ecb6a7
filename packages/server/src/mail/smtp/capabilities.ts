/**
 * What a server's EHLO reply offers (RFC 1870 SIZE, RFC 4954 AUTH, RFC 6531 SMTPUTF8). A reply to
 * HELO has one line and offers nothing.
 */
export interface Capabilities {
  /** Undefined where the server names no limit; 0 in RFC 1870 §4 means that too. */
  readonly messageBytesMax: number | undefined
  readonly hasSmtpUtf8: boolean
  readonly hasAuth: boolean
}

export function capabilitiesOf(ehloReply: string): Capabilities {
  let messageBytesMax: number | undefined
  let hasSmtpUtf8 = false
  let hasAuth = false
  for (const line of ehloReply.split('\n').slice(1)) {
    const [keyword = '', parameter = ''] = line.slice(4).trim().toUpperCase().split(/\s+/)
    if (keyword === 'SMTPUTF8') hasSmtpUtf8 = true
    // Old servers write `AUTH=LOGIN`.
    if (keyword === 'AUTH' || keyword.startsWith('AUTH=')) hasAuth = true
    if (keyword === 'SIZE' && /^[1-9]\d{0,15}$/.test(parameter)) messageBytesMax = Number(parameter)
  }
  return { messageBytesMax, hasSmtpUtf8, hasAuth }
}
