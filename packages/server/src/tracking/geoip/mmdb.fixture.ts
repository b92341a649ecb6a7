/**
 * A small mmdb file (MaxMind DB format 2.0) of IPv6 or IPv4 networks and their records, of which the
 * reader is to find each: a tree of 24-bit records, strings, maps, arrays and numbers.
 */
type Value = string | number | readonly Value[] | { readonly [key: string]: Value }

export function mmdbOf(records: Readonly<Record<string, Value>>): Buffer {
  const nodes: (number | undefined)[][] = [[undefined, undefined]]
  const data: Buffer[] = []
  let dataBytes = 0
  const leaves: { node: number; side: number; offset: number }[] = []
  for (const [network, record] of Object.entries(records)) {
    const [address = '', bits = '32'] = network.split('/')
    const octets = address.split('.').map(Number)
    let node = 0
    for (let bit = 0; bit < Number(bits); bit++) {
      const side = ((octets[bit >> 3] ?? 0) >> (7 - (bit & 7))) & 1
      if (bit === Number(bits) - 1) {
        leaves.push({ node, side, offset: dataBytes })
        break
      }
      const row = nodes[node] ?? []
      const next = row[side] ?? nodes.push([undefined, undefined]) - 1
      row[side] = next
      node = next
    }
    const encoded = encode(record)
    data.push(encoded)
    dataBytes += encoded.length
  }
  const tree = Buffer.alloc(nodes.length * 6)
  for (const [i, sides] of nodes.entries())
    for (const side of [0, 1]) tree.writeUIntBE(sides[side] ?? nodes.length, i * 6 + side * 3, 3)
  for (const { node, side, offset } of leaves)
    tree.writeUIntBE(nodes.length + 16 + offset, node * 6 + side * 3, 3)
  const metadata = encode({
    node_count: nodes.length,
    record_size: 24,
    ip_version: 4,
    database_type: 'Test-City',
    languages: ['en'],
    binary_format_major_version: 2,
    binary_format_minor_version: 0,
    build_epoch: 0,
    description: { en: 'test' },
  })
  const marker = Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1')
  return Buffer.concat([tree, Buffer.alloc(16), ...data, marker, metadata])
}

function encode(value: Value): Buffer {
  if (typeof value === 'string')
    return Buffer.concat([control(2, Buffer.byteLength(value)), Buffer.from(value)])
  if (typeof value === 'number') {
    const bytes = Buffer.alloc(4)
    bytes.writeUInt32BE(value)
    return Buffer.concat([control(6, 4), bytes])
  }
  if (Array.isArray(value)) return Buffer.concat([control(11, value.length), ...value.map(encode)])
  const entries = Object.entries(value)
  return Buffer.concat([control(7, entries.length), ...entries.flatMap((e) => e.map(encode))])
}

/** Types above 7 are in a byte of their own; sizes below 285 are all that is needed. */
function control(type: number, size: number): Buffer {
  const extended = type > 7
  const first = ((extended ? 0 : type) << 5) | Math.min(size, 29)
  return Buffer.from([first, ...(extended ? [type - 7] : []), ...(size >= 29 ? [size - 29] : [])])
}
