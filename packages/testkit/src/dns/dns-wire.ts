/** The wire form of DNS messages as far as a name server for tests needs it (RFC 1035 §4, RFC 6891 §6). */
const TYPES = { A: 1, NS: 2, CNAME: 5, SOA: 6, PTR: 12, MX: 15, TXT: 16, AAAA: 28 } as const
const OPT = 41
/** What a question without EDNS may be answered with by UDP. */
const UDP_BYTES_MAX = 512

export type DnsRecordType = 'A' | 'AAAA' | 'CNAME' | 'MX' | 'PTR' | 'TXT'
export type DnsQuestionType = keyof typeof TYPES | `TYPE${number}`

export interface DnsRecord {
  /** The name that was asked for, unless given. */
  readonly name?: string
  readonly type: DnsRecordType
  /** Of a TXT: the text, cut into strings of 255 bytes, or the strings as they are to be. */
  readonly value: string | readonly string[]
  /** Of an MX. */
  readonly priority?: number
  readonly ttl?: number
}

export interface DnsReply {
  /** 0 where absent; 1 FORMERR, 2 SERVFAIL, 3 NXDOMAIN, 4 NOTIMP, 5 REFUSED. */
  readonly rcode?: number
  readonly isTruncated?: boolean
  readonly records?: readonly DnsRecord[]
}

export interface ReadQuery {
  /** Without a final dot, in lower case. */
  readonly name: string
  readonly type: DnsQuestionType
  readonly udpBytesMax: number
}

export function readQuery(query: Buffer): ReadQuery {
  const { name, end } = readName(query)
  const code = query.readUInt16BE(end)
  const known = Object.entries(TYPES).find(([, value]) => value === code)
  const type = known === undefined ? (`TYPE${code}` as const) : (known[0] as keyof typeof TYPES)
  return { name: name.toLowerCase(), type, udpBytesMax: readUdpSize(query, end + 4) }
}

/** The name that was asked for is repeated in its own case, as it has to be. */
export function writeReply(query: Buffer, reply: DnsReply): Buffer {
  const { rcode = 0, isTruncated = false, records = [] } = reply
  const { name: asked, end } = readName(query)
  const flags = 0x8580 | (isTruncated ? 0x0200 : 0) | rcode
  return Buffer.concat([
    query.subarray(0, 2),
    ...[flags, 1, records.length, 0, 0].map(uint16),
    query.subarray(12, end + 4),
    ...records.flatMap((record) => {
      const data = writeData(record)
      const { name = asked, type, ttl = 0 } = record
      return [
        writeName(name),
        uint16(TYPES[type]),
        uint16(1),
        uint32(ttl),
        uint16(data.length),
        data,
      ]
    }),
  ])
}

export function uint16(value: number): Buffer {
  return Buffer.from([(value >> 8) & 0xff, value & 0xff])
}

function uint32(value: number): Buffer {
  return Buffer.concat([uint16(value >>> 16), uint16(value & 0xffff)])
}

function readName(query: Buffer): { readonly name: string; readonly end: number } {
  const labels: string[] = []
  let at = 12
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.'), end: at + 1 }
}

/** An OPT record follows the question directly: resolvers put nothing else into a query. */
function readUdpSize(query: Buffer, at: number): number {
  const hasOpt = query.length >= at + 11 && query[at] === 0 && query.readUInt16BE(at + 1) === OPT
  return hasOpt ? Math.max(UDP_BYTES_MAX, query.readUInt16BE(at + 3)) : UDP_BYTES_MAX
}

function writeData({ type, value, priority = 0 }: DnsRecord): Buffer {
  if (type === 'TXT') return writeStrings(value)
  const text = String(value)
  if (type === 'CNAME' || type === 'PTR') return writeName(text)
  if (type === 'MX') return Buffer.concat([uint16(priority), writeName(text)])
  return writeAddress(text)
}

function writeStrings(value: string | readonly string[]): Buffer {
  const parts =
    typeof value === 'string' ? cut(Buffer.from(value)) : value.map((one) => Buffer.from(one))
  return Buffer.concat(parts.flatMap((part) => [Buffer.from([part.length]), part]))
}

function cut(bytes: Buffer): Buffer[] {
  const parts: Buffer[] = []
  for (let at = 0; at < bytes.length || at === 0; at += 255)
    parts.push(bytes.subarray(at, at + 255))
  return parts
}

function writeName(name: string): Buffer {
  const labels = name === '' ? [] : name.split('.').map((label) => Buffer.from(label, 'latin1'))
  return Buffer.concat([
    ...labels.flatMap((label) => [Buffer.from([label.length]), label]),
    Buffer.alloc(1),
  ])
}

/** IPv6 in full, without `::`. */
function writeAddress(text: string): Buffer {
  if (!text.includes(':')) return Buffer.from(text.split('.').map(Number))
  return Buffer.concat(text.split(':').map((word) => uint16(Number.parseInt(word, 16))))
}
