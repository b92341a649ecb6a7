/** What the address of the settings holds. */
import { type AuditSearch, readAuditSearch } from '../audit/audit-search.ts'

export const settingsTabs = ['members', 'alerts', 'audit'] as const
export type SettingsTab = (typeof settingsTabs)[number]

/** The filters are those of the audit log. */
export interface SettingsSearch extends AuditSearch {
  /** The members when left out. */
  readonly tab?: SettingsTab
}

export function readSettingsSearch(given: Record<string, unknown>): SettingsSearch {
  if (given.tab === 'alerts') return { tab: 'alerts' }
  return given.tab === 'audit' ? { tab: 'audit', ...readAuditSearch(given) } : {}
}
