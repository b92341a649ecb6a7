/** The header of a message as it is on the wire: names and values in their order. */
export interface HeaderField {
  readonly name: string
  readonly value: string
}

/** Folded lines are put together; what is no field is left out. */
export function readHeaders(raw: string): HeaderField[] {
  const end = /\r?\n\r?\n/.exec(raw)?.index ?? raw.length
  const fields: { name: string; value: string }[] = []
  for (const line of raw.slice(0, end).split(/\r?\n/)) {
    const last = fields.at(-1)
    if (/^[ \t]/.test(line) && last !== undefined) {
      last.value += ` ${line.trim()}`
      continue
    }
    const colon = line.indexOf(':')
    if (colon > 0) fields.push({ name: line.slice(0, colon), value: line.slice(colon + 1).trim() })
  }
  return fields
}
