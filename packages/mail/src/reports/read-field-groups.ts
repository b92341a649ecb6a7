/** Groups of fields with empty lines between, as reports hold them (RFC 3464 §2.1, RFC 5965 §3). */
import type { MessageHeader } from '../parse/parsed-message.ts'
import { readHeaders } from '../parse/read-headers.ts'

const BYTES_MAX = 512 * 1024
const GROUP_LIMITS = { bytesMax: 65_536, fieldsMax: 200 }

export type Fields = readonly MessageHeader[]

export function readFieldGroups(content: Uint8Array, groupsMax: number): readonly Fields[] {
  const bytes = Buffer.from(content.subarray(0, BYTES_MAX))
  const groups: Fields[] = []
  let at = 0
  while (at < bytes.length && groups.length < groupsMax) {
    const { headers, bodyAt } = readHeaders(bytes, at, GROUP_LIMITS)
    if (headers.length > 0) groups.push(headers)
    at = bodyAt
  }
  return groups
}

export function fieldOf(fields: Fields, name: string): string | undefined {
  return fields.find((one) => one.name.toLowerCase() === name)?.value
}
