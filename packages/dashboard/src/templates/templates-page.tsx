/** The stored templates of the tenant. */
import type { ListedTemplate } from '@postrider/client'
import { useNavigate } from '@tanstack/react-router'
import { usePages } from '../api/use-pages.ts'
import { ActionButton } from '../session/action-button.tsx'
import { EmptyList } from '../session/empty-list.tsx'
import { useTenant } from '../session/use-tenant.ts'
import { Copyable } from '../ui/copy.tsx'
import { type Column, PagedTable } from '../ui/data-table.tsx'
import { Card, Page } from '../ui/page.tsx'
import { Time } from '../ui/time.tsx'
import { useWords } from '../words/define-words.ts'
import { templateSnippets } from './snippets.ts'
import { words } from './words.ts'

export function TemplatesPage() {
  const text = useWords(words)
  const { tenantId, client } = useTenant()
  const navigate = useNavigate()
  const pages = usePages({
    key: [tenantId, 'templates'],
    name: 'templates',
    list: (page, options) => client.listTemplates(page, options),
  })
  const isEmpty = pages.entries?.length === 0
  const add = (
    <ActionButton
      operation="createTemplate"
      onClick={() => void navigate({ to: '/t/$tenantId/templates/new', params: { tenantId } })}
    >
      {text.add}
    </ActionButton>
  )
  return (
    <Page title={text.templates} lead={text.lead} actions={!isEmpty && add}>
      <Card isFlush>
        <PagedTable
          pages={pages}
          label={text.templates}
          columns={useColumns()}
          rowKey={({ template_id }) => template_id}
          link={({ template_id }) => ({
            to: '/t/$tenantId/templates/$templateId',
            params: { tenantId, templateId: template_id },
          })}
          linkLabel={({ name }) => name}
          empty={
            <EmptyList title={text.noTemplates} action={add} snippets={templateSnippets()}>
              {text.noTemplatesHelp}
            </EmptyList>
          }
        />
      </Card>
    </Page>
  )
}

function useColumns(): readonly Column<ListedTemplate>[] {
  const text = useWords(words)
  return [
    { key: 'name', head: text.name, isTitle: true, cell: ({ name }) => name },
    {
      key: 'subject',
      head: text.subject,
      width: 'minmax(0, 2fr)',
      cell: ({ subject }) => subject,
    },
    {
      key: 'id',
      head: text.id,
      width: 'minmax(0, 1fr)',
      isMinor: true,
      cell: ({ template_id }) => <Copyable value={template_id} />,
    },
    { key: 'version', head: text.version, width: '90px', cell: ({ version }) => String(version) },
    {
      key: 'changed',
      head: text.changed,
      width: '130px',
      cell: ({ updated_at }) => <Time at={updated_at} />,
    },
  ]
}
