/** What the address of the settings holds. */
import { type AuditSearch, readAuditSearch } from '../audit/audit-search.ts'

export const settingsTabs = ['members', 'usage', 'alerts', 'audit'] as const
export type SettingsTab = (typeof settingsTabs)[number]

/** The filters are those of the audit log. */
export interface SettingsSearch extends AuditSearch {
  /** The first that is open to the reader when left out. */
  readonly tab?: SettingsTab
}

export function readSettingsSearch(given: Record<string, unknown>): SettingsSearch {
  const tab = settingsTabs.find((one) => one === given.tab)
  if (tab === undefined) return {}
  return tab === 'audit' ? { tab, ...readAuditSearch(given) } : { tab }
}
