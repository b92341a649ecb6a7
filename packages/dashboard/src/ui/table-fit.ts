/** Whether the columns of a table have room beside each other, or each row is a block. */
import { useCallback, useMemo, useSyncExternalStore } from 'react'

interface Track {
  readonly width?: string
  readonly isTitle?: boolean
  readonly isMinor?: boolean
}

/** Where rows are blocks in any case, and where the navigation goes from beside the page (see shell.module.css). */
const phone = 760
const withoutNav = 1000
const nav = 232
/** Around the page and the row, and between two columns. */
const edges = 90
const gap = 16
/** Of a column that takes what is left: less tells nothing. */
const titleMin = 140
const valueMin = 72

/** The media query of widths at which the columns do not fit. */
export function narrowQuery(columns: readonly Track[]): string {
  const most = Math.min(
    Math.max(phone, neededBy(columns.filter(({ isMinor }) => isMinor !== true))),
    withoutNav,
  )
  const besideNav = neededBy(columns) + nav
  const queries = [
    `(max-width: ${most}px)`,
    ...(besideNav > withoutNav
      ? [`(min-width: ${withoutNav + 1}px) and (max-width: ${besideNav}px)`]
      : []),
  ]
  return queries.join(', ')
}

function neededBy(columns: readonly Track[]): number {
  return columns.reduce((sum, column) => sum + leastOf(column) + gap, edges - gap)
}

function leastOf({ width = '', isTitle }: Track): number {
  const [, px] = /^(?:minmax\()?(\d+)px/.exec(width) ?? []
  return px === undefined ? (isTitle === true ? titleMin : valueMin) : Number(px)
}

export function useMedia(query: string): boolean {
  const list = useMemo(() => matchMedia(query), [query])
  const subscribe = useCallback(
    (tell: () => void) => {
      list.addEventListener('change', tell)
      return () => list.removeEventListener('change', tell)
    },
    [list],
  )
  return useSyncExternalStore(subscribe, () => list.matches)
}
