/** In place of actions that the reader's role may not do. */
import type { OperationId } from '@postrider/client'
import { Lock } from 'lucide-react'
import type { ReactNode } from 'react'
import { useMay } from '../session/use-may.ts'
import { StateMark } from '../ui/state-mark.tsx'
import { useWords } from '../words/define-words.ts'
import { words } from './words.ts'

export function IfMay({
  operation,
  children,
}: {
  readonly operation: OperationId
  readonly children: ReactNode
}) {
  const text = useWords(words)
  if (useMay()(operation)) return children
  return (
    <StateMark tone="muted" icon={Lock}>
      {text.readOnly}
    </StateMark>
  )
}
