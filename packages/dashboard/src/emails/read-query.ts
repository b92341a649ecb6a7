/** What was typed into the search of emails, as the one filter that it means. */
export type QueryFilter =
  | { readonly by: 'refId'; readonly value: string }
  | { readonly by: 'email'; readonly value: string }
  | { readonly by: 'recipientDomain'; readonly value: string }
  | { readonly by: 'campaignId'; readonly value: string }
  | { readonly by: 'subject'; readonly value: string }

/** The longest that the service takes. */
export const queryLengthMax = 998

const REF_ID = /^[0-7][0-9a-hjkmnp-tv-z]{25}$/i
/** `<01JD….0@example.com>`: the id of the email, and the number of the recipient. */
const MESSAGE_ID = /^<?([0-7][0-9a-hjkmnp-tv-z]{25})\.\d{1,5}@[^\s@<>]+>?$/i
const ADDRESS = /^[^\s@<>"]+@[^\s@<>"]+$/
const NAMED_ADDRESS = /^[^<>]*<([^\s@<>"]+@[^\s@<>"]+)>$/
const DOMAIN = /^@?((?:[\p{L}\p{N}](?:[\p{L}\p{N}-]*[\p{L}\p{N}])?\.)+[\p{L}][\p{L}\p{N}-]+)$/u
const QUOTED = /^["“„](.+)["”“]$/
const PREFIXED = /^(id|to|domain|campaign|subject):\s*(.+)$/is

const byPrefix = {
  id: 'refId',
  to: 'email',
  domain: 'recipientDomain',
  campaign: 'campaignId',
  subject: 'subject',
} as const

/** Undefined: nothing was typed. Quotes, or a prefix such as `subject:`, decide where the form does not. */
export function readQuery(typed: string): QueryFilter | undefined {
  const text = typed.trim().slice(0, queryLengthMax)
  if (text === '') return undefined
  const quoted = QUOTED.exec(text)?.[1]
  if (quoted !== undefined) return { by: 'subject', value: quoted }
  const prefixed = PREFIXED.exec(text)
  if (prefixed !== null) {
    const [, prefix = '', value = ''] = prefixed
    const by = byPrefix[prefix.toLowerCase() as keyof typeof byPrefix]
    return { by, value: by === 'recipientDomain' ? value.replace(/^@/, '') : value }
  }
  if (REF_ID.test(text)) return { by: 'refId', value: text.toUpperCase() }
  const ofMessage = MESSAGE_ID.exec(text)?.[1]
  if (ofMessage !== undefined) return { by: 'refId', value: ofMessage.toUpperCase() }
  const address = NAMED_ADDRESS.exec(text)?.[1] ?? (ADDRESS.test(text) ? text : undefined)
  if (address !== undefined) return { by: 'email', value: address }
  const domain = DOMAIN.exec(text)?.[1]
  if (domain !== undefined) return { by: 'recipientDomain', value: domain }
  return { by: 'subject', value: text }
}
