/** In place of a page that the reader's role does not include. */
import { Link } from '@tanstack/react-router'
import { Empty } from '../ui/answers.tsx'
import { Card, Page } from '../ui/page.tsx'
import { useWords } from '../words/define-words.ts'
import { words } from './words.ts'

export function ClosedPage() {
  const text = useWords(words)
  return (
    <Page title={text.closed}>
      <Card>
        <Empty title={text.closedHelp} action={<Link to="/">{text.toStart}</Link>} />
      </Card>
    </Page>
  )
}
