/** A time as it is read: relative, with the exact one, local and UTC, on focus and under the pointer. */
import { Tooltip } from '@mantine/core'
import { useId, useRef, useState } from 'react'
import { useWords } from '../words/define-words.ts'
import { useFormat } from '../words/format.ts'
import { useNow } from './now.ts'
import classes from './time.module.css'
import { words } from './words.ts'

export function Time({
  at,
  isExact = false,
  isClock = false,
  isHour = false,
}: {
  readonly at: string | null | undefined
  readonly isExact?: boolean
  /** Of a day that stands elsewhere. */
  readonly isClock?: boolean
  /** Known to the hour. */
  readonly isHour?: boolean
}) {
  const format = useFormat()
  const text = useWords(words)
  const now = useNow()
  const time = useRef<HTMLTimeElement>(null)
  const [isOpen, setOpen] = useState(false)
  const id = useId()
  if (at === null || at === undefined) return <span className={classes.none}>{text.never}</span>
  const date = new Date(at)
  const later = date > now && date.getTime() - now.getTime() < 10_000 ? now : date
  return (
    <>
      <time
        ref={time}
        className={classes.time}
        dateTime={at}
        tabIndex={0}
        aria-describedby={isOpen ? id : undefined}
        onPointerEnter={() => setOpen(true)}
        onPointerLeave={() => setOpen(false)}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onKeyDown={({ key }) => key === 'Escape' && setOpen(false)}
      >
        {isExact
          ? format.exact(date)
          : isClock
            ? format.clock(date)
            : format.relative(later, now, isHour ? 'hour' : 'second')}
      </time>
      {/* A list has hundreds of times: what tells the exact one is there for the one that is looked at. */}
      {isOpen && (
        <Tooltip
          opened
          target={time}
          label={
            <span id={id} className={classes.exact}>
              <span>{text.local}</span>
              <span>{format.exact(date)}</span>
              <span>{text.utc}</span>
              <span>{date.toISOString().replace('T', ' ').replace('Z', '')}</span>
            </span>
          }
        />
      )}
    </>
  )
}
