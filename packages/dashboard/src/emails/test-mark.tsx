/** Marks mail that a key of test mode sent: it went to nobody. */
import { FlaskConical } from 'lucide-react'
import { StateMark } from '../ui/state-mark.tsx'
import { useWords } from '../words/define-words.ts'
import { words } from './words.ts'

export function TestMark({ isQuiet = false }: { readonly isQuiet?: boolean }) {
  const text = useWords(words)
  return (
    <StateMark tone="violet" icon={FlaskConical} isQuiet={isQuiet}>
      {text.test}
    </StateMark>
  )
}
