/**
 * The records of a domain as SendGrid lists them, by names of its own: with automatic security
 * `mail_cname`, `dkim1` and `dkim2`, else `mail_server` (MX), `subdomain_spf`, `domain_spf` and
 * `dkim` (TXT). The root's SPF does nothing for mail whose return path is a subdomain.
 */
import type { RelayRecord } from '../relay.ts'
import { textOf } from '../report-fields.ts'

const VALUE_LENGTH_MAX = 4_096
const MX_PRIORITY = 10

export function recordsOf(dns: unknown): readonly RelayRecord[] {
  if (typeof dns !== 'object' || dns === null) return []
  return Object.entries(dns).flatMap(([key, record]) => {
    const type = typeOf(textOf(record, 'type'))
    const name = textOf(record, 'host')
    const data = textOf(record, 'data', VALUE_LENGTH_MAX)
    const use = useOf(key)
    if (type === undefined || name === undefined || data === undefined || use === undefined)
      return []
    return [{ type, name: nameOf(name), ...targetOf(type, data), ...use }]
  })
}

type Use = Pick<RelayRecord, 'purpose' | 'required'>

function useOf(key: string): Use | undefined {
  if (key.startsWith('mail')) return { purpose: 'return_path', required: true }
  if (key.startsWith('dkim')) return { purpose: 'dkim', required: true }
  if (key === 'dmarc') return { purpose: 'dmarc', required: false }
  return key.endsWith('spf') ? { purpose: 'spf', required: key === 'subdomain_spf' } : undefined
}

function typeOf(text = ''): RelayRecord['type'] | undefined {
  const types: readonly RelayRecord['type'][] = ['TXT', 'CNAME', 'MX']
  return types.find((type) => type === text.toUpperCase())
}

function targetOf(
  type: RelayRecord['type'],
  data: string,
): Pick<RelayRecord, 'value' | 'priority'> {
  if (type === 'TXT') return { value: data }
  if (type === 'CNAME') return { value: nameOf(data) }
  const [, priority, host = data] = /^(\d{1,5})\s+(\S+)$/.exec(data) ?? []
  return { value: nameOf(host), priority: priority === undefined ? MX_PRIORITY : Number(priority) }
}

function nameOf(text: string): string {
  return text.toLowerCase().replace(/\.$/, '')
}
