/**
 * What name servers say, on its way to the thread that authenticates: a question is a name and a type, and
 * an answer can be cloned. The thread asks nobody. It works with the answers that it was given, and tells
 * which questions are open.
 */
import type { DnsAnswer } from '@postrider/runtime/dns'

export interface Question {
  readonly name: string
  readonly type: QuestionType
}

export const questionTypes = ['TXT', 'MX', 'A', 'AAAA', 'PTR', 'CNAME'] as const
export type QuestionType = (typeof questionTypes)[number]

/** By `keyOf` their question. */
export type Answers = ReadonlyMap<string, DnsAnswer<unknown>>

export function keyOf({ name, type }: Question): string {
  return `${type} ${name.toLowerCase().replace(/\.$/, '')}`
}

export interface KnownLookups {
  /** As `dns.promises.resolve` answers, and rejects. An open question counts as not known for now. */
  readonly lookup: (name: string, type: string) => Promise<string[][]>
  /** Those without an answer, once each. */
  readonly open: readonly Question[]
}

export function createKnownLookups(answers: Answers): KnownLookups {
  const open = new Map<string, Question>()
  return {
    async lookup(name, given) {
      const type = questionTypes.find((one) => one === given)
      if (type === undefined) throw codedError('ENOTIMP', `no lookup of ${given}`)
      const question = { name, type }
      const answer = answers.get(keyOf(question))
      if (answer === undefined) {
        open.set(keyOf(question), question)
        throw codedError('ETIMEOUT', 'not asked yet')
      }
      const records = recordsOf(answer).map((one) => (type === 'TXT' ? [one] : one))
      // An exchange is an object there, which mailauth's types do not tell.
      return records as string[][]
    },
    get open() {
      return [...open.values()]
    },
  }
}

function recordsOf(answer: DnsAnswer<unknown>): unknown[] {
  if (answer.kind === 'found') return [...answer.records]
  if (answer.kind === 'absent')
    throw answer.isName === true
      ? codedError('ENODATA', 'no such record')
      : codedError('ENOTFOUND', 'no such name')
  throw codedError(answer.why === 'timeout' ? 'ETIMEOUT' : 'ESERVFAIL', answer.why)
}

function codedError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code })
}
