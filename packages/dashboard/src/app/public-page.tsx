/** The frame of the pages before the login. */
import { type ReactNode, useEffect } from 'react'
import { Logo } from './logo.tsx'
import classes from './public-page.module.css'

export function PublicPage(o: {
  readonly title: string
  readonly lead: string
  readonly children: ReactNode
}) {
  useEffect(() => {
    document.title = `${o.title} · Postrider`
  }, [o.title])
  return (
    <main className={classes.page}>
      <div className={classes.box}>
        <Logo />
        <div>
          <h1>{o.title}</h1>
          <p className={classes.lead}>{o.lead}</p>
        </div>
        {o.children}
      </div>
    </main>
  )
}
