/** A problem or a note over a screen, with its remedy beside it. */
import type { ReactNode } from 'react'
import classes from './banner.module.css'
import { StateMark, type Tone } from './state-mark.tsx'

export function Banner(o: {
  readonly tone: Tone
  readonly title: ReactNode
  readonly word: string
  readonly action?: ReactNode
  readonly children?: ReactNode
}) {
  return (
    <div className={classes.banner} data-tone={o.tone}>
      <StateMark tone={o.tone}>{o.word}</StateMark>
      <div className={classes.text}>
        <strong>{o.title}</strong>
        {o.children !== undefined && <div className={classes.detail}>{o.children}</div>}
      </div>
      {o.action !== undefined && <div className={classes.action}>{o.action}</div>}
    </div>
  )
}
