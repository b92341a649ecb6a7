/**
 * A list of rows under headings. Each row leads to a page of its own; `j`, `k` and Enter go through them.
 * On a narrow screen a row is a block, with its headings beside the values. Long lists draw only what is
 * seen.
 *
 * A value has two lines. What does not fit is told under the pointer, and the row in focus shows all of it.
 */
import { Button } from '@mantine/core'
import { Link, type LinkProps, useLocation, useNavigate } from '@tanstack/react-router'
import { useWindowVirtualizer, type VirtualItem } from '@tanstack/react-virtual'
import {
  type CSSProperties,
  type ReactNode,
  type RefObject,
  type SyntheticEvent,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import type { Pages } from '../api/use-pages.ts'
import { useWords } from '../words/define-words.ts'
import { useFormat } from '../words/format.ts'
import { Failure, Waiting } from './answers.tsx'
import { breakable } from './breakable.ts'
import classes from './data-table.module.css'
import { useKeys } from './keys.ts'
import { fitQueries, useMedia } from './table-fit.ts'
import { words } from './words.ts'

export interface Column<Row> {
  readonly key: string
  /** Empty: of what can be done. */
  readonly head: ReactNode
  readonly cell: (row: Row) => ReactNode
  /** A track of a CSS grid: `120px`, `minmax(0, 2fr)`. */
  readonly width?: string
  readonly align?: 'end'
  /** The first line of the block on a narrow screen, without its heading. */
  readonly isTitle?: boolean
  /** Shown as a whole, in as many lines as it takes. */
  readonly isWrapped?: boolean
  /** Left out where not all columns have room. */
  readonly isMinor?: boolean
}

const rowHeight = 41
/** Above it, only what is seen is drawn. */
const drawnWhole = 120
/** A shorter list is seen to be whole. */
const endToldFrom = 20

/** Heights of drawn rows of long lists that were left, by their place in the history: Back needs them. */
const leftHeights = new Map<string, VirtualItem[]>()
const leftListsMax = 20

function rememberHeights(place: string, heights: VirtualItem[]): void {
  leftHeights.delete(place)
  if (heights.length > 0) leftHeights.set(place, heights)
  for (const [oldest] of leftHeights)
    if (leftHeights.size > leftListsMax) leftHeights.delete(oldest)
}

interface Table<Row> {
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly rowKey: (row: Row) => string
  readonly link?: (row: Row) => LinkProps
  /** What the row's link is called for who cannot see it. */
  readonly linkLabel?: (row: Row) => string
}

export function DataTable<Row>(o: Table<Row>) {
  const fit = fitQueries(o.columns)
  const isNarrow = useMedia(fit.narrow)
  const isMajor = useMedia(fit.minor)
  const list = useRef<HTMLDivElement>(null)
  const { isLong, virtual, places } = usePlaces(o, list)
  const current = useCurrentRow(o, (index) => {
    if (isLong) virtual.scrollToIndex(index)
    else list.current?.children[index]?.scrollIntoView({ block: 'nearest' })
  })
  return (
    <div
      className={classes.table}
      role="table"
      aria-label={o.label}
      aria-rowcount={o.rows.length + 1}
      onPointerOver={tellWhole}
      data-narrow={isNarrow || undefined}
      data-major={isMajor || undefined}
      style={{
        ['--columns' as string]: o.columns
          .filter(({ isMinor }) => !(isMajor && isMinor))
          .map(({ width }) => width ?? 'minmax(0, 1fr)')
          .join(' '),
      }}
    >
      <div role="rowgroup">
        <Heads columns={o.columns} />
      </div>
      <div
        ref={list}
        role="rowgroup"
        className={classes.body}
        style={isLong ? { height: virtual.getTotalSize() } : undefined}
      >
        {places.map(({ index, offset }) => {
          const row = o.rows[index]
          if (row === undefined) return null
          return (
            <div
              key={o.rowKey(row)}
              ref={isLong ? virtual.measureElement : undefined}
              data-index={index}
              role="row"
              aria-rowindex={index + 2}
              className={classes.row}
              data-current={index === current || undefined}
              data-link={o.link !== undefined || undefined}
              style={offset === undefined ? undefined : placedAt(offset)}
            >
              {o.columns.map((column, at) => (
                <Cell
                  key={column.key}
                  column={column}
                  row={row}
                  {...(at === 0 && { link: o.link, linkLabel: o.linkLabel })}
                />
              ))}
            </div>
          )
        })}
      </div>
    </div>
  )
}

/** Which rows are drawn, and of a long list how far from its top. */
function usePlaces(
  { rows, label }: { readonly rows: readonly unknown[]; readonly label: string },
  list: RefObject<HTMLDivElement | null>,
) {
  const isLong = rows.length > drawnWhole
  const place = useLocation({ select: ({ state, href }) => `${state.__TSR_key ?? href} ${label}` })
  const virtual = useWindowVirtualizer({
    count: isLong ? rows.length : 0,
    estimateSize: () => rowHeight,
    overscan: 12,
    scrollMargin: list.current?.offsetTop ?? 0,
    initialMeasurementsCache: leftHeights.get(place) ?? [],
  })
  useLayoutEffect(() => () => rememberHeights(place, virtual.takeSnapshot()), [place, virtual])
  const places = isLong
    ? virtual
        .getVirtualItems()
        .map(({ index, start }) => ({ index, offset: start - virtual.options.scrollMargin }))
    : rows.map((_, index) => ({ index, offset: undefined }))
  return { isLong, virtual, places }
}

/** The index of the row that the keys have gone to; -1: none. */
function useCurrentRow<Row>({ rows, link }: Table<Row>, show: (index: number) => void): number {
  const navigate = useNavigate()
  const [current, setCurrent] = useState(-1)
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    Enter: () => {
      const row = rows[current]
      if (row !== undefined && link !== undefined && document.activeElement === document.body)
        void navigate(link(row))
    },
    Escape: () => setCurrent(-1),
  })
  function move(by: number): void {
    if (link === undefined) return
    const next = Math.max(0, Math.min(rows.length - 1, current + by))
    setCurrent(next)
    show(next)
  }
  return current
}

function placedAt(offset: number): CSSProperties {
  return { position: 'absolute', insetInline: 0, transform: `translateY(${offset}px)` }
}

function Heads<Row>({ columns }: { readonly columns: readonly Column<Row>[] }) {
  const text = useWords(words)
  return (
    <div className={classes.head} role="row">
      {columns.map(({ key, head, align, isMinor }) => (
        <div key={key} role="columnheader" data-align={align} data-minor={isMinor || undefined}>
          {head === '' ? <span className={classes.unseen}>{text.actions}</span> : head}
        </div>
      ))}
    </div>
  )
}

function Cell<Row>({
  column,
  row,
  link,
  linkLabel,
}: {
  readonly column: Column<Row>
  readonly row: Row
  readonly link?: Table<Row>['link'] | undefined
  readonly linkLabel?: Table<Row>['linkLabel'] | undefined
}) {
  const value = breakable(column.cell(row))
  return (
    <div
      role="cell"
      className={classes.cell}
      data-align={column.align}
      data-title={column.isTitle || undefined}
      data-wrapped={column.isWrapped || undefined}
      data-minor={column.isMinor || undefined}
    >
      {column.isTitle !== true && <span className={classes.label}>{column.head}</span>}
      {link !== undefined ? (
        <Link
          {...link(row)}
          className={classes.link}
          {...(linkLabel !== undefined && { 'aria-label': linkLabel(row) })}
        >
          {value}
        </Link>
      ) : (
        <div className={classes.value}>{value}</div>
      )}
    </div>
  )
}

/** The title of a value is what it holds, where it shows less. */
function tellWhole({ target }: SyntheticEvent): void {
  const value = (target as Element).closest(`.${classes.value}, .${classes.link}`)
  if (!(value instanceof HTMLElement)) return
  const isCut = [value, ...value.querySelectorAll('*')].some(
    (one) => one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 1,
  )
  value.title = isCut ? value.innerText : ''
}

/** A list of the service: its states, its rows, and more of them when the end is near. */
export function PagedTable<Row>(
  o: Omit<Table<Row>, 'rows'> & { readonly pages: Pages<Row>; readonly empty: ReactNode },
) {
  const text = useWords(words)
  const format = useFormat()
  const { pages, empty, ...table } = o
  const end = useRef<HTMLDivElement>(null)
  const { hasMore, isLoadingMore, isFruitless, loadMore } = pages
  const isAtEnd = useRef(loadMore)
  isAtEnd.current = loadMore
  useKeys({ r: pages.retry })
  useEffect(() => {
    if (!hasMore || isLoadingMore || isFruitless || end.current === null) return
    const observer = new IntersectionObserver(
      // Several at once on a busy machine: the last is how it is now.
      (entries) => entries.at(-1)?.isIntersecting === true && isAtEnd.current(),
      { rootMargin: '600px' },
    )
    observer.observe(end.current)
    return () => observer.disconnect()
  }, [hasMore, isLoadingMore, isFruitless])
  if (pages.entries === undefined) {
    if (pages.error) return <Failure error={pages.error} retry={pages.retry} />
    return <Waiting lines={8} />
  }
  if (pages.entries.length === 0 && !hasMore) return empty
  return (
    <>
      <DataTable {...table} rows={pages.entries} />
      <div className={classes.end} ref={end}>
        {pages.error ? (
          <Failure error={pages.error} retry={pages.retry} />
        ) : hasMore ? (
          <>
            {isFruitless && pages.entries.length === 0 && (
              <span role="status">{text.noneInNewest}</span>
            )}
            <Button variant="default" size="xs" loading={isLoadingMore} onClick={loadMore}>
              {isFruitless ? text.lookFurther : text.loadMore}
            </Button>
          </>
        ) : pages.entries.length < endToldFrom ? null : (
          <span>
            {text.allShown(pages.entries.length).replace(/\d+/, (n) => format.integer(Number(n)))}
          </span>
        )}
      </div>
    </>
  )
}
