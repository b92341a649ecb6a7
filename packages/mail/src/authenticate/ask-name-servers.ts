/**
 * Asks name servers for one message, within bounds: so many questions, and so long in all. What a message
 * asks is its sender's choice: signatures, includes and chains name domains without end. A question beyond
 * a bound has the answer that nobody knows for now.
 */
import type { DnsAnswer, DnsResolver } from '@postrider/runtime/dns'
import { waitAtMost } from '@postrider/runtime/timeout'
import { type Answers, keyOf, type Question } from './lookups.ts'

export type LookupResolver = Pick<DnsResolver, 'txt' | 'mx' | 'a' | 'aaaa' | 'ptr' | 'aliases'>

export interface NameServerQuestions {
  readonly answers: Answers
  /**
   * Returns when all have answers. It keeps a fifth of the time that is left for later questions: a single
   * silent server does not use it up.
   */
  ask(questions: readonly Question[]): Promise<void>
}

const UNKNOWN: DnsAnswer<never> = { kind: 'unknown', why: 'timeout', aliases: [] }
const SHARE = 0.8

export function createNameServerQuestions(o: {
  readonly resolver: LookupResolver
  readonly questionsMax: number
  /** Of waiting for answers, in all. */
  readonly waitMsMax: number
  readonly monotonicMs: () => number
}): NameServerQuestions {
  const answers = new Map<string, DnsAnswer<unknown>>()
  const asked = new Map<string, Promise<void>>()
  let leftMs = o.waitMsMax

  function begin(question: Question): void {
    const key = keyOf(question)
    if (asked.has(key)) return
    const isBeyond = asked.size >= o.questionsMax || leftMs <= 0
    const answer = isBeyond ? Promise.resolve(UNKNOWN) : askOne(o.resolver, question)
    const noted = answer
      .catch(() => UNKNOWN)
      .then((one) => {
        // It may have been given up before: then it stays so.
        if (!answers.has(key)) answers.set(key, one)
      })
    asked.set(key, noted)
  }

  return {
    answers,
    async ask(questions) {
      for (const question of questions) begin(question)
      const keys = questions.map(keyOf)
      const beganMs = o.monotonicMs()
      const all = Promise.all(keys.map((key) => asked.get(key)))
      await waitAtMost(all, Math.max(0, leftMs * SHARE))
      leftMs -= o.monotonicMs() - beganMs
      for (const key of keys) if (!answers.has(key)) answers.set(key, UNKNOWN)
    },
  }
}

function askOne(resolver: LookupResolver, { name, type }: Question): Promise<DnsAnswer<unknown>> {
  switch (type) {
    case 'TXT':
      return resolver.txt(name)
    case 'MX':
      return resolver.mx(name)
    case 'A':
      return resolver.a(name)
    case 'AAAA':
      return resolver.aaaa(name)
    case 'PTR':
      return resolver.ptr(name)
    case 'CNAME':
      return resolver.aliases(name)
  }
}
