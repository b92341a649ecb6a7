/** Whether a message is what SEARCH asks for (RFC 3501 §6.4.4). Times are UTC. */
import type { ImapMessage } from './imap-account.ts'
import { type ImapToken, isInSet, isSet, itemsOf, textOf } from './imap-syntax.ts'

/** A message with its number in the folder as the client knows it. */
export interface Candidate {
  readonly message: ImapMessage
  readonly sequence: number
  readonly largestSequence: number
  readonly largestUid: number
}

type Test = (candidate: Candidate) => boolean

/** Undefined for a key that is not known. */
export function compileSearch(tokens: readonly ImapToken[]): Test | undefined {
  const queue = [...tokens]
  const tests: Test[] = []
  while (queue.length > 0) {
    const test = compileKey(queue)
    if (test === undefined) return undefined
    tests.push(test)
  }
  return (candidate) => tests.every((test) => test(candidate))
}

function compileKey(queue: ImapToken[]): Test | undefined {
  const token = queue.shift()
  if (token?.kind === 'list') return compileSearch(itemsOf(token))
  const key = textOf(token).toUpperCase()
  const next = (): string => textOf(queue.shift())
  if (isSet(key)) return (one) => isInSet(key, one.sequence, one.largestSequence)
  const flag = FLAGS[key]
  if (flag !== undefined) return ({ message }) => message.flags.has(flag)
  const absent = FLAGS[key.replace(/^UN/, '')]
  if (key.startsWith('UN') && absent !== undefined)
    return ({ message }) => !message.flags.has(absent)
  switch (key) {
    case 'ALL':
      return () => true
    case 'UID': {
      const set = next()
      return (one) => isInSet(set, one.message.uid, one.largestUid)
    }
    case 'SINCE':
    case 'BEFORE': {
      const day = Date.parse(`${next().replaceAll('-', ' ')} 00:00:00Z`)
      const isSince = key === 'SINCE'
      return ({ message }) => message.internalDate.getTime() >= day === isSince
    }
    case 'HEADER': {
      const [name, value] = [next().toLowerCase(), next().toLowerCase()]
      return ({ message }) => fieldsOf(message.raw, name).some((one) => one.includes(value))
    }
    case 'MODSEQ': {
      const modseq = Number(next())
      return ({ message }) => message.modseq >= modseq
    }
    case 'LARGER':
    case 'SMALLER': {
      const bytes = Number(next())
      return ({ message: { raw } }) => (key === 'LARGER' ? raw.length > bytes : raw.length < bytes)
    }
    case 'NOT': {
      const test = compileKey(queue)
      return test && ((one) => !test(one))
    }
    case 'OR': {
      const [left, right] = [compileKey(queue), compileKey(queue)]
      return left && right && ((one) => left(one) || right(one))
    }
    default:
      return undefined
  }
}

const FLAGS: Readonly<Record<string, string>> = {
  SEEN: '\\Seen',
  DELETED: '\\Deleted',
  FLAGGED: '\\Flagged',
  ANSWERED: '\\Answered',
  DRAFT: '\\Draft',
}

/** The values of a field, unfolded, without case. */
function fieldsOf(raw: Buffer, name: string): string[] {
  const end = raw.indexOf('\r\n\r\n')
  return raw
    .toString('latin1', 0, end < 0 ? raw.length : end)
    .toLowerCase()
    .split(/\r\n(?![ \t])/)
    .filter((field) => field.startsWith(`${name}:`))
    .map((field) => field.slice(name.length + 1).replace(/\r\n/g, ''))
}
