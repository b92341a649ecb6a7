/** A time as it is read: relative, with the exact one, local and UTC, on focus and under the pointer. */

import { useWords } from '../words/define-words.ts'
import { useFormat } from '../words/format.ts'
import { Hint } from './hint.tsx'
import { useNow } from './now.ts'
import classes from './time.module.css'
import { words } from './words.ts'

export function Time({
  at,
  isExact = false,
  isClock = false,
}: {
  readonly at: string | null | undefined
  readonly isExact?: boolean
  /** Of a day that stands elsewhere. */
  readonly isClock?: boolean
}) {
  const format = useFormat()
  const text = useWords(words)
  const now = useNow()
  if (at === null || at === undefined) return <span className={classes.none}>{text.never}</span>
  const date = new Date(at)
  const later = date > now && date.getTime() - now.getTime() < 10_000 ? now : date
  return (
    <Hint
      label={
        <span className={classes.exact}>
          <span>{text.local}</span>
          <span>{format.exact(date)}</span>
          <span>{text.utc}</span>
          <span>{date.toISOString().replace('T', ' ').replace('Z', '')}</span>
        </span>
      }
    >
      <time className={classes.time} dateTime={at} tabIndex={0}>
        {isExact ? format.exact(date) : isClock ? format.clock(date) : format.relative(later, now)}
      </time>
    </Hint>
  )
}
