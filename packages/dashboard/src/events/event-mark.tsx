/** The name of an event, with its icon. */
import type { ListedEvent } from '@postrider/client'
import { StateMark, type Tone } from '../ui/state-mark.tsx'

export function EventMark({ event }: { readonly event: Pick<ListedEvent, 'event' | 'success'> }) {
  return (
    <StateMark tone={toneOf(event)} isQuiet>
      {event.event}
    </StateMark>
  )
}

function toneOf({ event, success }: Pick<ListedEvent, 'event' | 'success'>): Tone {
  if (event === 'MAIL_OPENED' || event === 'MAIL_CLICKED') return 'violet'
  if (event === 'SMTP_ERROR') return 'warn'
  if (success === false) return 'bad'
  return event === 'MAIL_DELIVERED' ? 'good' : 'info'
}
