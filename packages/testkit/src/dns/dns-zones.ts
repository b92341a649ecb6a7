/**
 * The records of a name server for tests, and what they say to a question: aliases are followed, a
 * name without the type asked for is not a name that does not exist, and nor is one that only has
 * names below it (RFC 1034 §4.3.2, RFC 8020).
 */
import type { DnsQuestionType, DnsRecord, DnsRecordType, DnsReply } from './dns-wire.ts'

const NXDOMAIN = 3
/** Longer chains are loops. */
const ALIASES_MAX = 16

/** As the service tells a tenant to publish it. */
export interface PublishedRecord {
  readonly type: string
  readonly name: string
  readonly value: string
  readonly priority?: number | undefined
}

export interface DnsZones {
  /** In place of what the name had of that type. An MX is `'10 mx.example.com'`. */
  set(name: string, type: DnsRecordType, values: readonly (string | readonly string[])[]): void
  /** Beside what there is. */
  publish(records: readonly PublishedRecord[]): void
  /** All of a name, or all of a type of it. */
  remove(name: string, type?: DnsRecordType): void
  clear(): void
  find(name: string, type: DnsQuestionType): DnsReply
}

export function createDnsZones(): DnsZones {
  const names = new Map<string, DnsRecord[]>()

  const remove = (name: string, type?: DnsRecordType): void => {
    const left = (names.get(key(name)) ?? []).filter(
      (one) => type !== undefined && one.type !== type,
    )
    if (left.length > 0) names.set(key(name), left)
    else names.delete(key(name))
  }
  const add = (name: string, record: DnsRecord): void => {
    const own = key(name)
    names.set(own, [...(names.get(own) ?? []), { ...record, name: own }])
  }
  const exists = (name: string): boolean =>
    names.has(name) || [...names.keys()].some((one) => one.endsWith(`.${name}`))

  return {
    set(name, type, values) {
      remove(name, type)
      for (const value of values) add(name, toRecord(type, value))
    },
    publish(records) {
      for (const { name, type, value, priority } of records) {
        if (!isRecordType(type)) throw new Error(`not a type of record here: ${type}`)
        add(name, { type, value, ...(priority === undefined ? {} : { priority }) })
      }
    },
    remove,
    clear: () => names.clear(),
    find(asked, type) {
      const records: DnsRecord[] = []
      let name = key(asked)
      for (let followed = 0; followed <= ALIASES_MAX; followed += 1) {
        const own = names.get(name) ?? []
        const alias = type === 'CNAME' ? undefined : own.find((one) => one.type === 'CNAME')
        if (alias === undefined) {
          records.push(...own.filter((one) => one.type === type))
          return { records, rcode: exists(name) ? 0 : NXDOMAIN }
        }
        records.push(alias)
        name = key(String(alias.value))
      }
      return { records }
    },
  }
}

function key(name: string): string {
  return name.replace(/\.$/, '').toLowerCase()
}

function toRecord(type: DnsRecordType, value: string | readonly string[]): DnsRecord {
  if (type !== 'MX') return { type, value }
  const [priority = '0', exchange = ''] = String(value).split(' ')
  return { type, value: exchange, priority: Number(priority) }
}

function isRecordType(type: string): type is DnsRecordType {
  return ['A', 'AAAA', 'CNAME', 'MX', 'PTR', 'TXT'].includes(type)
}
