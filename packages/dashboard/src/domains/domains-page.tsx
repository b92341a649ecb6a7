/** The sending domains of the tenant. */
import type { RelayKind } from '@postrider/client'
import { useMutation } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { relayKinds } from '../api/names.ts'
import { queryClient } from '../api/query-client.ts'
import { usePages } from '../api/use-pages.ts'
import { ActionButton } from '../session/action-button.tsx'
import { EmptyList } from '../session/empty-list.tsx'
import { useTenant } from '../session/use-tenant.ts'
import { Select } from '../ui/controls.ts'
import { PagedTable } from '../ui/data-table.tsx'
import { Dialog, DialogEnd, DialogForm } from '../ui/dialog.tsx'
import { Card, Page } from '../ui/page.tsx'
import { RequiredInput } from '../ui/required-input.tsx'
import { Time } from '../ui/time.tsx'
import { useWords } from '../words/define-words.ts'
import { DomainStateMark } from './domain-state.tsx'
import { domainSnippets } from './snippets.ts'
import { words } from './words.ts'

export function DomainsPage() {
  const text = useWords(words)
  const { tenantId, client, may } = useTenant()
  const { relay } = useSearch({ from: '/shell/t/$tenantId/domains' })
  const navigate = useNavigate()
  const [isAdding, setAdding] = useState(false)
  const close = () => {
    setAdding(false)
    if (relay !== undefined) void navigate({ to: '.', search: {}, replace: true })
  }
  const pages = usePages({
    key: [tenantId, 'domains'],
    name: 'domains',
    list: (page, options) => client.listDomains(page, options),
    refreshMs: 20_000,
  })
  const add = (
    <ActionButton
      operation="addDomain"
      leftSection={<Plus size={15} aria-hidden />}
      onClick={() => setAdding(true)}
    >
      {text.add}
    </ActionButton>
  )
  return (
    <Page title={text.domains} lead={text.lead} actions={pages.entries?.length !== 0 && add}>
      <Card isFlush>
        <PagedTable
          pages={pages}
          label={text.domains}
          rowKey={({ domain }) => domain}
          link={({ domain }) => ({
            to: '/t/$tenantId/domains/$domain',
            params: { tenantId, domain },
          })}
          columns={[
            {
              key: 'domain',
              head: text.domain,
              width: 'minmax(0, 2fr)',
              isTitle: true,
              cell: ({ domain }) => domain,
            },
            {
              key: 'state',
              head: text.state,
              width: '220px',
              cell: ({ state }) => <DomainStateMark state={state} />,
            },
            {
              key: 'records',
              head: text.records,
              cell: ({ records, relay }) => {
                if (relay === 'simulator') return text.noRecords
                const required = records.filter((record) => record.required)
                const valid = required.filter(({ status }) => status === 'valid')
                return text.recordsFound(valid.length, required.length)
              },
            },
            { key: 'relay', head: text.relay, width: '120px', cell: ({ relay }) => relay },
            {
              key: 'check',
              head: text.lastCheck,
              width: '150px',
              cell: ({ last_check_at }) => <Time at={last_check_at} />,
            },
          ]}
          empty={
            <EmptyList title={text.noDomains} action={add} snippets={domainSnippets()}>
              {text.noDomainsHelp}
            </EmptyList>
          }
        />
      </Card>
      <Dialog
        title={text.add}
        isOpen={isAdding || (relay !== undefined && may('addDomain'))}
        close={close}
      >
        <AddDomain relay={relay ?? 'sparkpost'} close={close} />
      </Dialog>
    </Page>
  )
}

function AddDomain({
  relay: first,
  close,
}: {
  readonly relay: RelayKind
  readonly close: () => void
}) {
  const text = useWords(words)
  const { tenantId, client } = useTenant()
  const navigate = useNavigate()
  const [domain, setDomain] = useState('')
  const [relay, setRelay] = useState(first)
  const add = useMutation({
    mutationFn: async () => {
      // It is nobody's account: there is nothing that a person would have to know before.
      if (relay === 'simulator') await client.configureRelay({ kind: relay })
      return (await client.addDomain({ domain: domain.trim(), relay })).domain
    },
    async onSuccess(made) {
      await queryClient.invalidateQueries({ queryKey: [tenantId] })
      await navigate({
        to: '/t/$tenantId/domains/$domain',
        params: { tenantId, domain: made.domain },
      })
    },
  })
  return (
    <DialogForm submit={() => add.mutate()}>
      <RequiredInput
        label={text.domain}
        description={text.domainHelp}
        data-autofocus
        value={domain}
        set={setDomain}
      />
      <Select
        label={text.relay}
        data={[...relayKinds]}
        value={relay}
        onChange={(value) => setRelay(relayKinds.find((one) => one === value) ?? 'sparkpost')}
      />
      <DialogEnd confirm={text.add} isBusy={add.isPending} error={add.error} close={close} />
    </DialogForm>
  )
}
