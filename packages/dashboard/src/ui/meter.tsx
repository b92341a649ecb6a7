/** How much of a whole is used: a bar beside words that say the same. */
import classes from './meter.module.css'
import type { Tone } from './state-mark.tsx'

export function Meter({
  label,
  share,
  tone = 'muted',
}: {
  readonly label: string
  /** From 0 to 1. */
  readonly share: number
  readonly tone?: Tone
}) {
  const percent = Math.min(100, Math.max(0, Math.round(share * 100)))
  return (
    <div
      className={classes.meter}
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={percent}
      data-tone={tone}
    >
      <div className={classes.bar} style={{ width: `${percent}%` }} />
    </div>
  )
}
