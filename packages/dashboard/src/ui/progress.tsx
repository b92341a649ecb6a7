/** How far a longer work has come. */
import { Progress as Bar } from '@mantine/core'
import classes from './progress.module.css'

export function Progress(o: {
  readonly label: string
  readonly value: number
  /** Undefined: not known yet. */
  readonly max: number | undefined
  readonly children?: string
}) {
  const isOpen = o.max === undefined || o.max === 0
  return (
    <div className={classes.progress}>
      <Bar.Root size="sm">
        <Bar.Section
          aria-label={o.label}
          value={isOpen ? 100 : Math.min(100, (o.value / (o.max ?? 1)) * 100)}
          color="var(--accent)"
          animated={isOpen}
        />
      </Bar.Root>
      {o.children !== undefined && <span>{o.children}</span>}
    </div>
  )
}
