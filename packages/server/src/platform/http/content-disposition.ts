/** How a file is offered to be kept, never to be shown (RFC 6266, RFC 8187). */
const NAME_LENGTH_MAX = 200

export function attachmentDisposition(filename: string, fallback: string): string {
  const name = [...filename.replace(/[\p{C}\p{Zl}\p{Zp}"\\/:*?<>|]/gu, '_')]
    .slice(0, NAME_LENGTH_MAX)
    .join('')
    .toWellFormed()
    .trim()
  // What is nothing but dots is a place, not a name.
  const safe = /^\.*$/.test(name) ? fallback : name
  const ascii = safe.replace(/[^\x20-\x7e]/g, '_').replaceAll('%', '_')
  const extended = encodeURIComponent(safe).replace(
    /['()*!]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${ascii}"; filename*=UTF-8''${extended}`
}
