/**
 * Our name servers' answers as mailauth wants them, for one message: so many questions, until a deadline.
 *
 * What a message asks for is its sender's choice: signatures, includes and chains name domains without
 * end. What is not asked any more counts as not known for now.
 */
import type { DnsAnswer, DnsResolver } from '../../platform/dns/index.ts'

/** As `dns.promises.resolve` answers, and rejects. */
export type Lookup = (name: string, type: string) => Promise<string[][]>

export type LookupResolver = Pick<DnsResolver, 'txt' | 'mx' | 'a' | 'aaaa' | 'ptr' | 'aliases'>

export function boundLookups(o: {
  readonly resolver: LookupResolver
  readonly lookupsMax: number
  readonly isOver: () => boolean
}): Lookup {
  let left = o.lookupsMax
  return async (name, type) => {
    if (left <= 0 || o.isOver()) throw codedError('ETIMEOUT', 'no more is asked for this message')
    left -= 1
    const records = recordsOf(await ask(o.resolver, name, type))
    // An exchange is an object there, which mailauth's types do not tell.
    return records as string[][]
  }
}

function ask(resolver: LookupResolver, name: string, type: string): Promise<DnsAnswer<unknown>> {
  switch (type) {
    case 'TXT':
      return asked(resolver.txt(name), (text) => [text])
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
    default:
      throw codedError('ENOTIMP', `no lookup of ${type}`)
  }
}

async function asked<R, S>(
  answer: Promise<DnsAnswer<R>>,
  toRecord: (record: R) => S,
): Promise<DnsAnswer<S>> {
  const found = await answer
  return found.kind === 'found' ? { ...found, records: found.records.map(toRecord) } : found
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
