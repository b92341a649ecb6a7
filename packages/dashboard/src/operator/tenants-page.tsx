/** All tenants of the service. */
import { usePages } from '../api/use-pages.ts'
import { clientOf } from '../session/client.ts'
import { Empty } from '../ui/answers.tsx'
import { Copyable } from '../ui/copy.tsx'
import { PagedTable } from '../ui/data-table.tsx'
import { Card, Page } from '../ui/page.tsx'
import { Time } from '../ui/time.tsx'
import { useWords } from '../words/define-words.ts'
import { words } from './words.ts'

export function TenantsPage() {
  const text = useWords(words)
  const pages = usePages({
    key: ['operator', 'tenants'],
    name: 'tenants',
    list: (page, options) => clientOf().listTenants(page, options),
  })
  return (
    <Page title={text.tenants} lead={text.tenantsLead}>
      <Card isFlush>
        <PagedTable
          pages={pages}
          label={text.tenants}
          empty={<Empty title={text.noTenants}>{text.noTenantsHelp}</Empty>}
          rowKey={({ tenant_id }) => tenant_id}
          link={({ tenant_id }) => ({ to: '/t/$tenantId', params: { tenantId: tenant_id } })}
          columns={[
            { key: 'name', head: text.name, cell: ({ name }) => name, isTitle: true },
            { key: 'id', head: text.id, cell: ({ tenant_id }) => <Copyable value={tenant_id} /> },
            {
              key: 'created',
              head: text.created,
              cell: ({ created_at }) => <Time at={created_at} />,
            },
          ]}
        />
      </Card>
    </Page>
  )
}
