import type { MailerState } from '@postrider/client'
import { StateMark, stateIcons } from '../ui/state-mark.tsx'
import { useWords } from '../words/define-words.ts'
import { words } from './words.ts'

/** Whether a mailer sends. */
export function MailerStateMark({ state }: { readonly state: MailerState }) {
  const text = useWords(words)
  if (state === 'disabled')
    return (
      <StateMark tone="muted" icon={stateIcons.pause}>
        {text.states.disabled}
      </StateMark>
    )
  return <StateMark tone={state === 'active' ? 'good' : 'bad'}>{text.states[state]}</StateMark>
}
