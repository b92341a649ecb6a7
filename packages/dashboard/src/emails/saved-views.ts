/** Views of the list that the reader keeps in this browser, each tenant's by itself. */
import { type EmailsSearch, readEmailsSearch } from './emails-search.ts'

export interface SavedView {
  readonly name: string
  readonly search: EmailsSearch
}

export const savedViewsMax = 20
export const viewNameLengthMax = 40

/** What was stored by whatever version of the page, checked. */
export function readViews(stored: string | undefined): SavedView[] {
  let given: unknown
  try {
    given = JSON.parse(stored ?? '[]')
  } catch {
    return []
  }
  if (!Array.isArray(given)) return []
  return given.slice(0, savedViewsMax).flatMap((one: unknown) => {
    if (typeof one !== 'object' || one === null) return []
    const { name, search } = one as Record<string, unknown>
    if (typeof name !== 'string' || name === '' || typeof search !== 'object' || search === null)
      return []
    return [{ name: name.slice(0, viewNameLengthMax), search: readEmailsSearch({ ...search }) }]
  })
}

/** A view of the same name is replaced. The newest is the last; of too many the oldest go. */
export function withView(views: readonly SavedView[], view: SavedView): SavedView[] {
  return [...views.filter(({ name }) => name !== view.name), view].slice(-savedViewsMax)
}

export function isSameSearch(a: EmailsSearch, b: EmailsSearch): boolean {
  const text = (search: EmailsSearch) => JSON.stringify(Object.entries(search).sort())
  return text(a) === text(b)
}
