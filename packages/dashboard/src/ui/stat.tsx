/** Numbers beside each other; each may lead to its list. */
import { Link, type LinkProps } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import classes from './stat.module.css'

export interface StatEntry {
  readonly name: string
  readonly value: ReactNode
  readonly note?: ReactNode
  readonly link?: LinkProps
  readonly isBad?: boolean
}

export function Stats({ entries }: { readonly entries: readonly StatEntry[] }) {
  return (
    <dl className={classes.stats} data-count={entries.length}>
      {entries.map(({ name, value, note, link, isBad }) => (
        <div key={name} className={classes.stat}>
          <dt>{link === undefined ? name : <Link {...link}>{name}</Link>}</dt>
          <dd className={classes.value} data-bad={isBad || undefined}>
            {value}
          </dd>
          {note !== undefined && <dd className={classes.note}>{note}</dd>}
        </div>
      ))}
    </dl>
  )
}

/** Names with a share of the whole, as bars beside their numbers. */
export function Shares(o: {
  readonly entries: readonly {
    readonly name: string
    readonly value: number
    readonly link?: LinkProps
  }[]
  readonly format: (value: number) => string
}) {
  const top = Math.max(1, ...o.entries.map(({ value }) => value))
  return (
    <ol className={classes.shares}>
      {o.entries.map(({ name, value, link }) => (
        <li key={name}>
          <svg
            className={classes.share}
            preserveAspectRatio="none"
            viewBox="0 0 100 1"
            aria-hidden="true"
          >
            <rect width={(value / top) * 100} height="1" />
          </svg>
          <span className={classes.shareName}>
            {link === undefined ? name : <Link {...link}>{name}</Link>}
          </span>
          <span>{o.format(value)}</span>
        </li>
      ))}
    </ol>
  )
}
