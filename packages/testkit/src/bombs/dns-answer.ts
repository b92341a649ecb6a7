/**
 * DNS answers as bytes (RFC 1035 §4), for the name server of the testkit to send in place of its own:
 * the first two bytes are the id of the question, which the caller puts in.
 */
import { createRandom, type Random } from '../random.ts'

export interface DnsBomb {
  readonly kind: 'dns answer'
  readonly name: string
  /** The question as it was received, header and all. */
  make(query: Buffer): Buffer
}

const FLAGS = Buffer.from([0x81, 0x80])
const POINTER_TO_NAME = Buffer.from([0xc0, 0x0c])
const TYPES = { A: 1, NS: 2, CNAME: 5, MX: 15, TXT: 16, AAAA: 28, OPT: 41 } as const
const BYTES_MAX = 60_000

/** At least 40: each shape in each type of record, and random bytes. */
export function createDnsBombs(seed: number): readonly DnsBomb[] {
  const random = createRandom(seed)
  const shaped = Object.entries(SHAPES).flatMap(([shape, data]) =>
    (['TXT', 'MX', 'CNAME'] as const).map((type): DnsBomb => {
      return {
        kind: 'dns answer',
        name: `${shape} in ${type}`,
        make: (query) => answer(query, TYPES[type], data),
      }
    }),
  )
  const broken = Array.from({ length: 16 }, (_, i): DnsBomb => {
    const drawn = random.below(2 ** 31)
    return {
      kind: 'dns answer',
      name: `random bytes of seed ${drawn}`,
      make: (query) => mangled(query, createRandom(drawn), i),
    }
  })
  return [...shaped, ...broken]
}

type Data = (n: number) => Buffer

const SHAPES: Readonly<Record<string, Data>> = {
  'thousands of empty records': () => Buffer.alloc(0),
  'records that point to themselves': (n) => pointer(12 + (n % 4_000)),
  'names of 127 labels': () => Buffer.concat([...Array(127).fill(label('a')), Buffer.of(0)]),
  'labels that never end': () => Buffer.concat(Array(200).fill(label('a'.repeat(63)))),
  'a text of 255 strings': () => Buffer.concat(Array(255).fill(label('a'.repeat(200)))),
  'a text of empty strings': () => Buffer.alloc(4_000),
  'a length beyond the end': () => Buffer.from([0xff, 0x61]),
  'SPF that includes': () => label('v=spf1 include:a.example.com include:b.example.com '.repeat(4)),
  'numbers only': (n) => Buffer.from([n & 0xff, 0xff, 0xff, 0xff]),
}

function label(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1').subarray(0, 255)
  return Buffer.concat([Buffer.of(bytes.length), bytes])
}

function pointer(to: number): Buffer {
  return Buffer.from([0xc0 | ((to >> 8) & 0x3f), to & 0xff])
}

/** As many records as fit, of one type. */
function answer(query: Buffer, type: number, data: Data): Buffer {
  const question = questionOf(query)
  const records: Buffer[] = []
  let bytes = 12 + question.length
  for (let n = 0; bytes < BYTES_MAX && n < 0xffff; n++) {
    const value = data(n)
    const head = Buffer.alloc(10)
    head.writeUInt16BE(type, 0)
    head.writeUInt16BE(1, 2)
    head.writeUInt16BE(value.length, 8)
    const record = Buffer.concat([POINTER_TO_NAME, head, value])
    if (bytes + record.length > BYTES_MAX) break
    records.push(record)
    bytes += record.length
  }
  return Buffer.concat([header(query, records.length), question, ...records])
}

function mangled(query: Buffer, random: Random, i: number): Buffer {
  const whole = answer(query, TYPES.TXT, () => label('v=spf1 -all'))
  const cut = Buffer.from(whole.subarray(0, 12 + random.below(i % 2 === 0 ? whole.length : 200)))
  for (let at = 0; at < 50; at++) {
    const place = 2 + random.below(Math.max(1, cut.length - 2))
    if (place < cut.length) cut[place] = random.below(256)
  }
  return cut
}

function header(query: Buffer, answers: number): Buffer {
  const bytes = Buffer.alloc(12)
  query.copy(bytes, 0, 0, 2)
  FLAGS.copy(bytes, 2)
  bytes.writeUInt16BE(1, 4)
  bytes.writeUInt16BE(answers, 6)
  return bytes
}

function questionOf(query: Buffer): Buffer {
  let end = 12
  while (end < query.length && query[end] !== 0) end += (query[end] ?? 0) + 1
  return query.subarray(12, end + 5)
}
