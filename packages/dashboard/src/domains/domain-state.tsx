import type { DomainState } from '@postrider/client'
import { StateMark, type Tone } from '../ui/state-mark.tsx'
import { useWords } from '../words/define-words.ts'
import { words } from './words.ts'

const tones: Readonly<Record<DomainState, Tone>> = {
  creating: 'info',
  pending: 'warn',
  verified: 'good',
  unverified: 'bad',
  taken: 'bad',
}

/** Whether a domain is proven. */
export function DomainStateMark({ state }: { readonly state: DomainState }) {
  const text = useWords(words)
  return <StateMark tone={tones[state]}>{text.states[state]}</StateMark>
}
