/** DNS records as lines of a zone file (RFC 1035 §5), to be pasted. */
export interface ZoneRecord {
  readonly type: string
  readonly name: string
  readonly value: string
  readonly priority?: number
}

/** Octets of one character-string of a TXT record (RFC 1035 §3.3.14). */
const stringMax = 255

export function zoneFile(records: readonly ZoneRecord[]): string {
  return records
    .map((record) => `${record.name}. 3600 IN ${record.type} ${dataOf(record)}\n`)
    .join('')
}

function dataOf({ type, value, priority }: ZoneRecord): string {
  if (type === 'TXT') return stringsOf(value).join(' ')
  return type === 'MX' ? `${priority ?? 10} ${value}.` : `${value}.`
}

function stringsOf(value: string): string[] {
  const strings: string[] = []
  for (let at = 0; at < value.length || at === 0; at += stringMax)
    strings.push(`"${value.slice(at, at + stringMax).replace(/["\\]/g, '\\$&')}"`)
  return strings
}
