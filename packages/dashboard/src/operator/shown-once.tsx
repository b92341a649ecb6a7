/** A secret that the service shows once: to be copied before the dialog is left. */
import type { ReactNode } from 'react'
import { Button } from '../ui/controls.ts'
import { CodeBlock } from '../ui/copy.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Row, Stack } from '../ui/page.tsx'
import { StateMark } from '../ui/state-mark.tsx'
import { useWords } from '../words/define-words.ts'
import { words } from './words.ts'

export function ShownOnce(o: {
  readonly title: string
  readonly help: string
  readonly label: string
  /** Undefined: there is none to show. */
  readonly secret: string | undefined
  readonly close: () => void
  readonly action?: ReactNode
}) {
  const text = useWords(words)
  return (
    <Dialog title={o.title} isOpen={o.secret !== undefined} close={o.close} size="lg">
      <Stack>
        <p>{o.help}</p>
        <CodeBlock code={o.secret ?? ''} label={o.label} />
        <StateMark tone="warn">{text.shownOnce}</StateMark>
        <Row>
          {o.action}
          <Button variant="default" onClick={o.close}>
            {text.close}
          </Button>
        </Row>
      </Stack>
    </Dialog>
  )
}
