/** Where a recipient stands, as icon and word. */
import type { EmailLog } from '@postrider/client'
import {
  Ban,
  CalendarClock,
  CircleCheck,
  CircleDashed,
  CirclePause,
  CircleX,
  Clock,
  type LucideIcon,
  Send,
  ShieldAlert,
  TimerOff,
  Undo2,
} from 'lucide-react'
import { StateMark, type Tone } from '../ui/state-mark.tsx'
import { useWords } from '../words/define-words.ts'
import { words } from './words.ts'

export type RecipientStatus = EmailLog['status']

const marks: Record<RecipientStatus, readonly [Tone, LucideIcon]> = {
  queued: ['info', CircleDashed],
  scheduled: ['muted', CalendarClock],
  sending: ['info', Send],
  deferred: ['warn', Clock],
  held: ['warn', CirclePause],
  sent: ['info', Send],
  delivered: ['good', CircleCheck],
  bounced: ['bad', Undo2],
  failed: ['bad', CircleX],
  blocked: ['bad', ShieldAlert],
  suppressed: ['muted', Ban],
  expired: ['bad', TimerOff],
  rejected: ['muted', Ban],
}

export function toneOf(status: RecipientStatus): Tone {
  return marks[status][0]
}

export function EmailStatus({
  status,
  isQuiet = false,
}: {
  readonly status: RecipientStatus
  readonly isQuiet?: boolean
}) {
  const text = useWords(words)
  const [tone, icon] = marks[status]
  return (
    <StateMark tone={tone} icon={icon} isQuiet={isQuiet}>
      {text.statuses[status]}
    </StateMark>
  )
}
