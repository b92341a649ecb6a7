/** The views of the reader in this browser, of the tenant of the page. */
import { useMemo, useSyncExternalStore } from 'react'
import { readSetting, subscribeSettings, writeSetting } from '../app/settings.ts'
import { readViews, type SavedView, withView } from './saved-views.ts'

export function useViews(tenantId: string) {
  const name = `views.emails.${tenantId}` as const
  const stored = useSyncExternalStore(subscribeSettings, () => readSetting(name))
  const views = useMemo(() => readViews(stored), [stored])
  const write = (next: readonly SavedView[]) => writeSetting(name, JSON.stringify(next))
  return {
    views,
    save: (view: SavedView) => write(withView(views, view)),
    remove: (one: string) => write(views.filter(({ name: other }) => other !== one)),
  }
}
