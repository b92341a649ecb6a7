import type { InboundDomain } from '@postrider/client'
import { StateMark, type Tone } from '../ui/state-mark.tsx'
import { useWords } from '../words/define-words.ts'
import { words } from './words.ts'

const tones: Readonly<Record<InboundDomain['state'], Tone>> = {
  pending: 'warn',
  verified: 'good',
  taken: 'bad',
}

/** Whether a domain receives. */
export function InboundStateMark({ state }: { readonly state: InboundDomain['state'] }) {
  const text = useWords(words)
  return <StateMark tone={tones[state]}>{text.domainStates[state]}</StateMark>
}
