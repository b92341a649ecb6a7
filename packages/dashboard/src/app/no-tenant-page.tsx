/** Who was removed from the last tenant, or waits for one. */
import { Empty } from '../ui/answers.tsx'
import { Page } from '../ui/page.tsx'
import { useWords } from '../words/define-words.ts'
import { words } from './words.ts'

export function NoTenantPage() {
  const text = useWords(words)
  return (
    <Page title={text.noTenants}>
      <Empty title={text.noTenants}>{text.noTenantsHelp}</Empty>
    </Page>
  )
}
