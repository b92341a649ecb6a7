/**
 * Whether a message is authenticated as fast where it is as it is handed to a thread: it has no signature,
 * and little else that its sender has chosen. Then the worst takes a few milliseconds, whatever is in it.
 * The work that grows with the square of something is bounded by the square of the limits here.
 */
import type { DnsAnswer } from '@postrider/runtime/dns'
import type { AuthenticationJob } from './authenticate-step.ts'
import type { Answers } from './lookups.ts'

const HEADER_BYTES_MAX = 4 * 1024
/** Of all records together. */
const RECORDS_CHARS_MAX = 2 * 1024
const RECORDS_MAX = 40
const NAMES_SIGNATURE = /dkim-signature|arc-(?:seal|message|authentication)/i

export function isCheap({ message, answers }: AuthenticationJob): boolean {
  const isSmall = message.kind !== 'raw' || isPlain(message.raw)
  return isSmall && areShort(answers)
}

/** It has a whole header that is short, and names no signature, however its name is folded. */
function isPlain(raw: Uint8Array): boolean {
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, Math.min(raw.length, HEADER_BYTES_MAX))
  const start = bytes.toString('latin1')
  const end = start.search(/\n\r?\n/)
  return end >= 0 && !NAMES_SIGNATURE.test(start.slice(0, end).replaceAll(/[\r\n]/g, ''))
}

/** A macro repeats what it stands for. */
function areShort(answers: Answers): boolean {
  let chars = 0
  let count = 0
  for (const answer of answers.values())
    for (const record of recordsOf(answer)) {
      const text = typeof record === 'string' ? record : JSON.stringify(record)
      chars += text.length
      count += 1
      if (chars > RECORDS_CHARS_MAX || count > RECORDS_MAX || text.includes('%')) return false
    }
  return true
}

function recordsOf(answer: DnsAnswer<unknown>): readonly unknown[] {
  return answer.kind === 'found' ? answer.records : []
}
