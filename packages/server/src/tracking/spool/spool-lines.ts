/** A hit as a line of a file: a checksum and the hit. One that a crash has torn is known by it. */
import { crc32 } from 'node:zlib'
import { type Hit, hitFromJson, hitToJson } from '../intake/hit.ts'

export function toLine(hit: Hit): string {
  const json = hitToJson(hit)
  return `${crc32(json).toString(16)} ${json}\n`
}

/** Lines that were spoiled are counted alone; a last one without an end was torn, and never answered. */
export function fromLines(text: string): { readonly hits: Hit[]; readonly unreadable: number } {
  const lines = text.slice(0, text.lastIndexOf('\n') + 1).split('\n')
  const whole = lines.filter((line) => line !== '')
  const hits = whole.flatMap(fromLine)
  return { hits, unreadable: whole.length - hits.length }
}

function fromLine(line: string): Hit[] {
  const [, sum, json] = /^([0-9a-f]+) (.*)$/.exec(line) ?? []
  if (sum === undefined || json === undefined || crc32(json).toString(16) !== sum) return []
  return [hitFromJson(json)]
}
