/** What the address of an audit log holds, and what the service is asked by it. */
import type { ListAuditInput } from '@postrider/client'

export const auditFilterNames = ['operation', 'actor', 'target', 'start', 'end'] as const
export type AuditFilterName = (typeof auditFilterNames)[number]
/** What is no filter is undefined: what a reader leaves out would stay as it was in the address. */
export type AuditSearch = { readonly [Name in AuditFilterName]?: string | undefined }

const LENGTH_MAX = 320
const DAY = /^\d{4}-\d{2}-\d{2}$/

export function readAuditSearch(given: Readonly<Record<string, unknown>>): AuditSearch {
  return Object.fromEntries(auditFilterNames.map((name) => [name, filterOf(name, given[name])]))
}

function filterOf(name: AuditFilterName, value: unknown): string | undefined {
  const text = typeof value === 'number' ? String(value) : value
  if (typeof text !== 'string') return undefined
  if ((name === 'start' || name === 'end') && !DAY.test(text)) return undefined
  return text.trim().slice(0, LENGTH_MAX) || undefined
}

export function toAuditQuery(search: AuditSearch): Pick<ListAuditInput, AuditFilterName> {
  const given = auditFilterNames.flatMap((name) => {
    const value = search[name]
    return value === undefined ? [] : [[name, value]]
  })
  return Object.fromEntries(given)
}
