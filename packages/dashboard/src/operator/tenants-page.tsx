/** All tenants of the service, with what they use. */
import type { ListedTenant } from '@postrider/client'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { usePages } from '../api/use-pages.ts'
import { ActionButton } from '../session/action-button.tsx'
import { clientOf } from '../session/client.ts'
import { EmptyList } from '../session/empty-list.tsx'
import { TextInput } from '../ui/controls.ts'
import { PagedTable } from '../ui/data-table.tsx'
import { NothingMatches } from '../ui/filters.tsx'
import { Card, Page } from '../ui/page.tsx'
import { StateMark } from '../ui/state-mark.tsx'
import { Time } from '../ui/time.tsx'
import { useWords } from '../words/define-words.ts'
import { NewTenant } from './new-tenant.tsx'
import { tenantSnippets } from './snippets.ts'
import { tenantTones } from './states.ts'
import { TenantUsage } from './tenant-usage.tsx'
import { words } from './words.ts'

export function TenantsPage() {
  const text = useWords(words)
  const { name } = useSearch({ from: '/shell/operator/tenants' })
  const navigate = useNavigate({ from: '/operator/tenants' })
  const [typed, setTyped] = useState(name ?? '')
  const [isOpen, setOpen] = useState(false)
  const pages = usePages({
    key: ['operator', 'tenants', name],
    name: 'tenants',
    list: (page, options) =>
      clientOf().listTenants({ ...page, ...(name !== undefined && { name }) }, options),
  })
  const find = (part: string) => {
    setTyped(part)
    void navigate({ search: part === '' ? {} : { name: part }, replace: true })
  }
  const create = (
    <ActionButton
      operation="createTenant"
      leftSection={<Plus size={15} aria-hidden />}
      onClick={() => setOpen(true)}
    >
      {text.newTenant}
    </ActionButton>
  )
  return (
    <Page title={text.tenants} lead={text.tenantsLead} actions={create}>
      <TextInput
        type="search"
        aria-label={text.findTenant}
        placeholder={text.findTenant}
        value={typed}
        maxLength={200}
        maw={360}
        onChange={(event) => find(event.currentTarget.value)}
      />
      <Card isFlush>
        <PagedTable
          pages={pages}
          label={text.tenants}
          empty={
            name === undefined ? (
              <EmptyList title={text.noTenants} action={create} snippets={tenantSnippets()}>
                {text.noTenantsHelp}
              </EmptyList>
            ) : (
              <NothingMatches
                filters={[{ name: text.namePart, value: name, drop: () => find('') }]}
              />
            )
          }
          rowKey={({ tenant_id }) => tenant_id}
          link={({ tenant_id }) => ({ to: '/operator/tenants/$id', params: { id: tenant_id } })}
          columns={[
            {
              key: 'name',
              head: text.name,
              width: 'minmax(0, 2fr)',
              cell: (one: ListedTenant) => one.name,
              isTitle: true,
            },
            {
              key: 'state',
              head: text.state,
              width: '150px',
              cell: ({ state }) => (
                <StateMark tone={tenantTones[state]}>{text.tenantStates[state]}</StateMark>
              ),
            },
            {
              key: 'created',
              head: text.created,
              width: '130px',
              cell: ({ created_at }) => <Time at={created_at} />,
            },
            ...(['emails_today', 'queued', 'storage_bytes'] as const).map((of) => ({
              key: of,
              head: {
                emails_today: text.sentToday,
                queued: text.waiting,
                storage_bytes: text.stored,
              }[of],
              width: 'minmax(72px, 110px)',
              align: 'end' as const,
              cell: (one: ListedTenant) => <TenantUsage tenantId={one.tenant_id} of={of} />,
            })),
          ]}
        />
      </Card>
      <NewTenant isOpen={isOpen} close={() => setOpen(false)} />
    </Page>
  )
}
