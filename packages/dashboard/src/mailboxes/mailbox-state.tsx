import type { Mailer } from '@postrider/client'
import { StateMark, type Tone } from '../ui/state-mark.tsx'
import { useWords } from '../words/define-words.ts'
import { words } from './words.ts'

export type MailboxState = NonNullable<Mailer['mailbox']>['state']

const tones: Readonly<Record<MailboxState, Tone>> = {
  waiting: 'info',
  watched: 'good',
  failing: 'bad',
  stopped: 'muted',
}

/** Whether a mailbox can be read. */
export function MailboxStateMark({ state }: { readonly state: MailboxState }) {
  const text = useWords(words)
  return <StateMark tone={tones[state]}>{text.states[state]}</StateMark>
}
