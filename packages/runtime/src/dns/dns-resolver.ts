/**
 * What is published under a name, as a value: it is there, it is said not to be there, or nobody knows.
 *
 * Only the last may pass by itself: a name server that is silent, fails or refuses says nothing of
 * the record. Aliases are followed as far as the servers do not do it themselves (an authoritative one
 * answers for its own zones alone), a bounded number of them, each once.
 *
 * Names are in lower case and without a final dot; a TXT record's strings are joined, as RFC 7208 §3.3
 * and RFC 6376 §3.6.2.2 read them.
 */
import type { Resolver } from 'node:dns/promises'
import { createNameServers, type NameServersOptions } from './name-servers.ts'

export interface MailExchange {
  readonly priority: number
  readonly exchange: string
}

export type DnsAnswer<R> = Finding<R> & {
  /** Names that the given one stands for, in order, as far as they are known. */
  readonly aliases: readonly string[]
}

type Finding<R> =
  | { readonly kind: 'found'; readonly records: readonly R[] }
  /**
   * There is no such name, nothing of that type under it (then `isName`), or aliases that lead
   * nowhere.
   */
  | { readonly kind: 'absent'; readonly isName?: true }
  | { readonly kind: 'unknown'; readonly why: DnsTrouble }

export type DnsTrouble = 'timeout' | 'failed' | 'refused' | 'unreachable' | 'busy' | 'stopped'

export interface DnsResolver {
  txt(name: string): Promise<DnsAnswer<string>>
  mx(name: string): Promise<DnsAnswer<MailExchange>>
  /** IPv4 addresses. */
  a(name: string): Promise<DnsAnswer<string>>
  /** IPv6 addresses. */
  aaaa(name: string): Promise<DnsAnswer<string>>
  /** Names of an address, which is given as a name (RFC 1035 §3.5). */
  ptr(name: string): Promise<DnsAnswer<string>>
  /** Every name that this one stands for. */
  aliases(name: string): Promise<DnsAnswer<string>>
  close(): void
}

const LOOKUPS_MAX = 200
const LOOKUP_MS_MAX = 8_000
const ALIASES_MAX = 8

/** What c-ares says of an answer, or of its absence. */
const ABSENT: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME'])
const NO_DATA = 'ENODATA'
const TROUBLES: Readonly<Record<string, DnsTrouble>> = {
  ETIMEOUT: 'timeout',
  ECANCELLED: 'timeout',
  EREFUSED: 'refused',
  ECONNREFUSED: 'unreachable',
}

type Question<R> = (resolver: Resolver, name: string) => Promise<R[]>

const txtOf: Question<string> = async (resolver, name) =>
  (await resolver.resolveTxt(name)).map((strings) => strings.join(''))
const mxOf: Question<MailExchange> = async (resolver, name) =>
  (await resolver.resolveMx(name)).map(({ priority, exchange }) => ({
    priority,
    exchange: plainName(exchange),
  }))
const aOf: Question<string> = (resolver, name) => resolver.resolve4(name)
const aaaaOf: Question<string> = (resolver, name) => resolver.resolve6(name)
const ptrOf: Question<string> = async (resolver, name) =>
  (await resolver.resolvePtr(name)).map(plainName)
const aliasOf: Question<string> = async (resolver, name) =>
  (await resolver.resolveCname(name)).map(plainName)

export function createDnsResolver(o: NameServersOptions = {}): DnsResolver {
  const nameServers = createNameServers({
    lookupsMax: LOOKUPS_MAX,
    lookupMsMax: LOOKUP_MS_MAX,
    ...o,
  })

  /** All questions of a walk from alias to alias share one resolver, and its end. */
  async function lookUp<R>(
    walk: (resolver: Resolver) => Promise<DnsAnswer<R>>,
  ): Promise<DnsAnswer<R>> {
    const asked = await nameServers.ask(walk)
    if (asked.kind !== 'asked') return { kind: 'unknown', why: asked.kind, aliases: [] }
    const { result } = asked
    const isUnreachable = result.kind === 'unknown' && result.why === 'unreachable'
    // So c-ares calls a socket that could not be made.
    return isUnreachable && o.descriptors?.areOut() === true ? { ...result, why: 'busy' } : result
  }

  const finding =
    <R>(question: Question<R>) =>
    (name: string) =>
      lookUp((resolver) => findRecords(resolver, plainName(name), question))

  return {
    txt: finding(txtOf),
    mx: finding(mxOf),
    a: finding(aOf),
    aaaa: finding(aaaaOf),
    ptr: finding(ptrOf),
    aliases: (name) => lookUp((resolver) => followAliases(resolver, plainName(name))),
    close: nameServers.close,
  }
}

async function findRecords<R>(
  resolver: Resolver,
  name: string,
  question: Question<R>,
): Promise<DnsAnswer<R>> {
  const aliases: string[] = []
  let absent: Finding<R> = { kind: 'absent' }
  for (let at: string | undefined = name; at !== undefined; ) {
    const answer = await put(question, resolver, at)
    if (answer.kind !== 'absent') return { ...answer, aliases }
    absent = answer
    const alias = await put(aliasOf, resolver, at)
    if (alias.kind === 'unknown') return { ...alias, aliases }
    at = stepOn(alias, name, aliases)
  }
  return { ...absent, aliases }
}

async function followAliases(resolver: Resolver, name: string): Promise<DnsAnswer<string>> {
  const aliases: string[] = []
  for (let at: string | undefined = name; at !== undefined; ) {
    const alias = await put(aliasOf, resolver, at)
    if (alias.kind === 'unknown') return { ...alias, aliases }
    const isEnd = alias.kind === 'absent'
    if (isEnd && aliases.length > 0) return { kind: 'found', records: aliases, aliases }
    at = stepOn(alias, name, aliases)
  }
  return { kind: 'absent', aliases }
}

/** Where an alias leads, which is noted; undefined when it leads nowhere, in a circle or too far. */
function stepOn(alias: Finding<string>, name: string, aliases: string[]): string | undefined {
  const next = alias.kind === 'found' ? alias.records[0] : undefined
  if (next === undefined || next === name || aliases.includes(next)) return undefined
  if (aliases.length >= ALIASES_MAX) return undefined
  aliases.push(next)
  return next
}

/** Passes over servers that are silent by itself, but takes a failure of the first for an answer. */
async function put<R>(
  question: Question<R>,
  resolver: Resolver,
  name: string,
): Promise<Finding<R>> {
  const servers = resolver.getServers()
  let finding: Finding<R> = { kind: 'unknown', why: 'unreachable' }
  for (const [i, server] of servers.entries()) {
    if (i > 0) resolver.setServers([server, ...servers.slice(i + 1)])
    finding = await putOnce(question, resolver, name)
    if (finding.kind !== 'unknown' || finding.why === 'timeout') break
  }
  resolver.setServers(servers)
  return finding
}

async function putOnce<R>(
  question: Question<R>,
  resolver: Resolver,
  name: string,
): Promise<Finding<R>> {
  try {
    const records = await question(resolver, name)
    return records.length === 0 ? { kind: 'absent' } : { kind: 'found', records }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    if (code === NO_DATA) return { kind: 'absent', isName: true }
    if (ABSENT.has(code)) return { kind: 'absent' }
    return { kind: 'unknown', why: TROUBLES[code] ?? 'failed' }
  }
}

function plainName(name: string): string {
  const lower = name.toLowerCase()
  return lower.endsWith('.') ? lower.slice(0, -1) : lower
}
