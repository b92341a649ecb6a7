/** What the reader chose in this browser. A browser that stores nothing keeps it for the page. */
const prefix = 'postrider.'
const names = ['language', 'nav', 'zone'] as const
/** Views of lists are kept for each tenant, and that its first steps are hidden. */
export type SettingName = (typeof names)[number] | `views.${string}` | `steps.${string}`

const kept = new Map<SettingName, string>()
const listeners = new Set<() => void>()

export function readSetting(name: SettingName): string | undefined {
  const known = kept.get(name)
  if (known !== undefined) return known
  try {
    const stored = localStorage.getItem(prefix + name) ?? undefined
    if (stored !== undefined) kept.set(name, stored)
    return stored
  } catch {
    return undefined
  }
}

export function writeSetting(name: SettingName, value: string): void {
  kept.set(name, value)
  try {
    localStorage.setItem(prefix + name, value)
  } catch {
    // The page goes on with what it keeps.
  }
  for (const listener of listeners) listener()
}

export function subscribeSettings(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
