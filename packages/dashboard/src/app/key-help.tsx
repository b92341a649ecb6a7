/** The list of keys. */
import { Dialog } from '../ui/dialog.tsx'
import { Fields } from '../ui/page.tsx'
import { useWords } from '../words/define-words.ts'
import { words } from './words.ts'

export function KeyHelp({
  isOpen,
  close,
}: {
  readonly isOpen: boolean
  readonly close: () => void
}) {
  const { keyHelp } = useWords(words)
  return (
    <Dialog title={keyHelp.title} isOpen={isOpen} close={close}>
      <Fields
        entries={[
          [<Keys key="1" of={['/']} />, keyHelp.slash],
          [<Keys key="2" of={['Ctrl', 'K']} />, keyHelp.command],
          [<Keys key="3" of={['g', 'o', 'e', 'm', 'w', 'l']} />, keyHelp.goto],
          [<Keys key="4" of={['j', 'k', 'Enter', 'Esc']} />, keyHelp.rows],
          [<Keys key="5" of={['r']} />, keyHelp.refresh],
          [<Keys key="6" of={['?']} />, keyHelp.help],
        ]}
      />
    </Dialog>
  )
}

function Keys({ of }: { readonly of: readonly string[] }) {
  return of.map((key) => <kbd key={key}>{key} </kbd>)
}
