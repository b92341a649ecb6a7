/**
 * What stands before the secret in the answers of AUTH (RFC 4616, RFC 7628): for the login to send,
 * and for the redactor to recognise.
 */
export function plainPrefix(username: string): string {
  return `\0${username}\0`
}

/** Google's and Microsoft's own, older than the standard. */
export function xoauth2Prefix(username: string): string {
  return `user=${username}\u0001auth=Bearer `
}

export function bearerPrefix(username: string, host: string, port: number): string {
  const name = username.replaceAll('=', '=3D').replaceAll(',', '=2C')
  return `n,a=${name},\u0001host=${host}\u0001port=${port}\u0001auth=Bearer `
}
