/**
 * Caches answers of name servers for a short time, and shares one question between concurrent callers.
 * Unknown answers are not cached.
 *
 * For judging mail by published records, which may be half a minute old. Not for checks whether a record
 * was just published.
 */
import { createBoundedMap } from '../bounded-map.ts'
import type { DnsAnswer, DnsResolver } from './dns-resolver.ts'

export type RememberedResolver = Omit<DnsResolver, 'close'>

const KEPT_MS = 30_000
/** Of each type: names are chosen by anybody. */
const ANSWERS_MAX = 2_000
/** Of a name (RFC 1035 §3.1), as it is written: what is longer is none, and would only take room. */
const NAME_CHARS_MAX = 255
/** Of what one answer may take. */
const CHARS_MAX = 2_048

interface Remembered {
  readonly answer: Promise<DnsAnswer<unknown>>
  readonly untilMs: number
}

export function rememberAnswers(
  resolver: RememberedResolver,
  monotonicMs: () => number = () => performance.now(),
): RememberedResolver {
  const remembering = <R>(ask: (name: string) => Promise<DnsAnswer<R>>) => {
    const known = createBoundedMap<string, Remembered>(ANSWERS_MAX)
    return (name: string): Promise<DnsAnswer<R>> => {
      if (name.length > NAME_CHARS_MAX) return ask(name)
      const key = name.toLowerCase()
      const before = known.get(key)
      // Each map has answers of one kind.
      if (before !== undefined && before.untilMs > monotonicMs())
        return before.answer as Promise<DnsAnswer<R>>
      const answer = ask(name)
      const own = { answer, untilMs: monotonicMs() + KEPT_MS }
      const forget = () => {
        if (known.get(key) === own) known.delete(key)
      }
      known.set(key, own)
      answer.then((found) => {
        if (!isWorthKeeping(found)) forget()
      }, forget)
      return answer
    }
  }
  return {
    txt: remembering(resolver.txt),
    mx: remembering(resolver.mx),
    a: remembering(resolver.a),
    aaaa: remembering(resolver.aaaa),
    ptr: remembering(resolver.ptr),
    aliases: remembering(resolver.aliases),
  }
}

function isWorthKeeping(answer: DnsAnswer<unknown>): boolean {
  if (answer.kind === 'unknown') return false
  return answer.kind === 'absent' || JSON.stringify(answer.records).length <= CHARS_MAX
}
