/** What the address of the settings holds. */
import { type AuditSearch, readAuditSearch } from '../audit/audit-search.ts'

export const settingsTabs = ['members', 'audit'] as const
export type SettingsTab = (typeof settingsTabs)[number]

/** The filters are those of the audit log. */
export interface SettingsSearch extends AuditSearch {
  /** The members when left out. */
  readonly tab?: SettingsTab
}

export function readSettingsSearch(given: Record<string, unknown>): SettingsSearch {
  return given.tab === 'audit' ? { tab: 'audit', ...readAuditSearch(given) } : {}
}
