/** Changes what the address of a page holds: a part that is empty or undefined leaves the address. */
import { useNavigate } from '@tanstack/react-router'

export type SearchChange<Search extends object> = (
  part: {
    readonly [K in keyof Search]?: Search[K] | undefined
  },
) => void

export function useSearchChange<Search extends object>(search: Search): SearchChange<Search> {
  const navigate = useNavigate()
  return (part) => {
    const kept = Object.entries({ ...search, ...part }).filter(([, value]) => value)
    void navigate({ to: '.', search: Object.fromEntries(kept), replace: true })
  }
}
