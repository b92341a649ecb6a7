/** The frame of a screen: its title, what it is for, its actions. */
import type { ReactNode } from 'react'
import { useEffect } from 'react'
import classes from './page.module.css'

export function Page(o: {
  /** Also of the browser's window. */
  readonly title: string
  /** In place of the title where more than text is shown. */
  readonly heading?: ReactNode
  readonly lead?: ReactNode
  /** Above the title: where this is. */
  readonly trail?: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
}) {
  useEffect(() => {
    document.title = `${o.title} · Postrider`
  }, [o.title])
  return (
    <div className={classes.page}>
      <header className={classes.header}>
        <div className={classes.titles}>
          {o.trail !== undefined && <div className={classes.trail}>{o.trail}</div>}
          <h1>{o.heading ?? o.title}</h1>
          {o.lead !== undefined && <p className={classes.lead}>{o.lead}</p>}
        </div>
        {o.actions !== undefined && <div className={classes.actions}>{o.actions}</div>}
      </header>
      {o.children}
    </div>
  )
}

/** A part of a screen with a border of its own. */
export function Card(o: {
  /** By which the hash of an address leads here. */
  readonly id?: string
  readonly title?: ReactNode
  readonly note?: ReactNode
  readonly actions?: ReactNode
  /** Without space around the content: for tables. */
  readonly isFlush?: boolean
  readonly children: ReactNode
}) {
  return (
    <section className={classes.card} id={o.id} tabIndex={o.id === undefined ? undefined : -1}>
      {(o.title !== undefined || o.actions !== undefined) && (
        <div className={classes.cardHead}>
          <div>
            {o.title !== undefined && <h2>{o.title}</h2>}
            {o.note !== undefined && <p className={classes.note}>{o.note}</p>}
          </div>
          {o.actions !== undefined && <div className={classes.actions}>{o.actions}</div>}
        </div>
      )}
      <div className={o.isFlush === true ? undefined : classes.cardBody}>{o.children}</div>
    </section>
  )
}

/** Names and values, one below the other on narrow screens. */
export function Fields({
  entries,
}: {
  readonly entries: readonly (readonly [ReactNode, ReactNode] | undefined)[]
}) {
  return (
    <dl className={classes.fields}>
      {entries.map((entry, at) => {
        if (entry === undefined) return null
        const [name, value] = entry
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: the entries of one screen keep their order
          <div key={at}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        )
      })}
    </dl>
  )
}

/** Cards beside each other where there is room. */
export function Columns({ children }: { readonly children: ReactNode }) {
  return <div className={classes.columns}>{children}</div>
}

export function Stack({ children }: { readonly children: ReactNode }) {
  return <div className={classes.stack}>{children}</div>
}

export function Row({ children }: { readonly children: ReactNode }) {
  return <div className={classes.row}>{children}</div>
}
