/** What becomes of the mail that a key sends, as icon and word. */
import type { ApiKey } from '@postrider/client'
import { FlaskConical, Radio } from 'lucide-react'
import { StateMark } from '../ui/state-mark.tsx'
import { useWords } from '../words/define-words.ts'
import { words } from './words.ts'

export function KeyMode({ mode }: Pick<ApiKey, 'mode'>) {
  const text = useWords(words)
  return (
    <StateMark
      tone={mode === 'test' ? 'violet' : 'info'}
      icon={mode === 'test' ? FlaskConical : Radio}
      isQuiet
    >
      {text.modes[mode]}
    </StateMark>
  )
}
