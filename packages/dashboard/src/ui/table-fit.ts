/** Whether the columns of a table have room beside each other, the minor ones too, or each row is a block. */
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
const titleMin = 100
const valueMin = 72

/**
 * The media queries of widths at which the columns do not fit: first the minor ones are left out, then each row is
 * a block.
 */
export function fitQueries(columns: readonly Track[]): { minor: string; narrow: string } {
  return {
    minor: queryBelow(neededBy(columns)),
    narrow: queryBelow(neededBy(columns.filter(({ isMinor }) => isMinor !== true))),
  }
}

function queryBelow(needed: number): string {
  const most = Math.min(Math.max(phone, needed), withoutNav)
  const besideNav = needed + nav
  const queries = [
    `(max-width: ${most}px)`,
    ...(besideNav > withoutNav
      ? [`(min-width: ${withoutNav + 1}px) and (max-width: ${besideNav}px)`]
      : []),
  ]
  return queries.join(', ')
}

/** What is left is divided by shares: the column that is short of room first says how much that must be. */
function neededBy(columns: readonly Track[]): number {
  const tracks = columns.map(readTrack)
  const fixed = tracks.reduce((sum, { px }) => sum + px, 0)
  const shares = tracks.reduce((sum, { share }) => sum + share, 0)
  const perShare = Math.max(0, ...tracks.map(({ share, least }) => (share > 0 ? least / share : 0)))
  return Math.ceil(fixed + shares * perShare + edges + gap * (columns.length - 1))
}

function readTrack({ width = '1fr', isTitle }: Track) {
  const [, share] = /([\d.]+)fr\)?$/.exec(width) ?? []
  if (share === undefined) {
    const [px] = /\d+(?=px\)?$)/.exec(width) ?? []
    return { px: Number(px), share: 0, least: 0 }
  }
  const [, min] = /^minmax\(([1-9]\d*)px/.exec(width) ?? []
  const least = min === undefined ? (isTitle === true ? titleMin : valueMin) : Number(min)
  return { px: 0, share: Number(share), least }
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
