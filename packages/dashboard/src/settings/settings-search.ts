/** What the address of the settings holds. */
export const settingsTabs = ['members', 'audit'] as const
export type SettingsTab = (typeof settingsTabs)[number]

export interface SettingsSearch {
  /** The members when left out. */
  readonly tab?: SettingsTab
}

export function readSettingsSearch({ tab }: Record<string, unknown>): SettingsSearch {
  return tab === 'audit' ? { tab } : {}
}
