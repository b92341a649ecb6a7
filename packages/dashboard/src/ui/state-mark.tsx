/** A state as icon and word: colour alone says nothing. */
import {
  Ban,
  CircleCheck,
  CircleDashed,
  CircleDot,
  CirclePause,
  Clock,
  type LucideIcon,
  MousePointerClick,
  OctagonAlert,
  TriangleAlert,
} from 'lucide-react'
import type { ReactNode } from 'react'
import classes from './state-mark.module.css'

export type Tone = 'good' | 'warn' | 'bad' | 'info' | 'muted' | 'violet'

const icons: Record<Tone, LucideIcon> = {
  good: CircleCheck,
  warn: TriangleAlert,
  bad: OctagonAlert,
  info: CircleDot,
  muted: CircleDashed,
  violet: MousePointerClick,
}

/** More icons of states, for `icon`. */
export const stateIcons = { ban: Ban, clock: Clock, pause: CirclePause }

export function StateMark(o: {
  readonly tone: Tone
  readonly icon?: LucideIcon | undefined
  readonly isQuiet?: boolean
  readonly children: ReactNode
}) {
  const Icon = o.icon ?? icons[o.tone]
  return (
    <span className={classes.mark} data-tone={o.tone} data-quiet={o.isQuiet || undefined}>
      <Icon size={14} strokeWidth={2.2} aria-hidden />
      <span>{o.children}</span>
    </span>
  )
}
