/** Keys of programs, and how a program sends. */
import type { ApiKey } from '@postrider/client'
import { useMutation } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { queryClient } from '../api/query-client.ts'
import { usePages } from '../api/use-pages.ts'
import { ActionButton, SmallAction } from '../session/action-button.tsx'
import { EmptyList } from '../session/empty-list.tsx'
import { useTenant } from '../session/use-tenant.ts'
import { Tabs } from '../ui/controls.ts'
import { CodeBlock } from '../ui/copy.tsx'
import { type Column, PagedTable } from '../ui/data-table.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { Card, Columns, Page, Stack } from '../ui/page.tsx'
import { StateMark } from '../ui/state-mark.tsx'
import { Time } from '../ui/time.tsx'
import { tellDone } from '../ui/toast.ts'
import { useWords } from '../words/define-words.ts'
import { CreateKey } from './create-key.tsx'
import { KeyMode } from './key-mode.tsx'
import { SmtpCard } from './smtp-card.tsx'
import { keySnippets, sendSnippets } from './snippets.ts'
import { useSender } from './use-sender.ts'
import { words } from './words.ts'

export function DevelopersPage() {
  const text = useWords(words)
  const { may, tenantId } = useTenant()
  const from = useSender()
  return (
    <Page title={text.developers} lead={text.lead}>
      {may('listKeys') && <Keys />}
      <Columns>
        <Stack>
          <Snippets from={from} />
          <Card title={text.testInbox} note={text.testInboxNote}>
            <Link to="/t/$tenantId/test-inbox" params={{ tenantId }}>
              {text.openTestInbox}
            </Link>
          </Card>
          <Card title={text.reference} note={text.referenceNote}>
            <a href="/docs" target="_blank" rel="noreferrer">
              {text.openReference}
            </a>
          </Card>
        </Stack>
        <SmtpCard from={from} />
      </Columns>
    </Page>
  )
}

function Keys() {
  const text = useWords(words)
  const { tenantId, client, may } = useTenant()
  const { scope } = useSearch({ from: '/shell/t/$tenantId/developers' })
  const navigate = useNavigate()
  const [isCreating, setCreating] = useState(false)
  const [revoking, setRevoking] = useState<ApiKey>()
  const pages = usePages({
    key: [tenantId, 'keys'],
    name: 'keys',
    list: (page, options) => client.listKeys(page, options),
  })
  const create = (
    <ActionButton size="xs" operation="createKey" onClick={() => setCreating(true)}>
      {text.create}
    </ActionButton>
  )
  return (
    <Card title={text.keys} note={text.keysNote} actions={create} isFlush>
      <PagedTable
        pages={pages}
        label={text.keys}
        columns={useColumns(setRevoking)}
        rowKey={({ key_id }) => key_id}
        empty={
          <EmptyList title={text.noKeys} action={create} snippets={keySnippets()}>
            {text.noKeysHelp}
          </EmptyList>
        }
      />
      <CreateKey
        isOpen={isCreating || (scope !== undefined && may('createKey'))}
        close={() => {
          setCreating(false)
          if (scope !== undefined) void navigate({ to: '.', search: {}, replace: true })
        }}
        {...(scope !== undefined && { scopes: scope === 'all' ? [] : [scope] })}
        create={(key) => client.createKey(key)}
        refresh={() => queryClient.invalidateQueries({ queryKey: [tenantId, 'keys'] })}
      />
      <Revoke apiKey={revoking} close={() => setRevoking(undefined)} />
    </Card>
  )
}

function useColumns(revoke: (key: ApiKey) => void): readonly Column<ApiKey>[] {
  const text = useWords(words)
  return [
    {
      key: 'name',
      head: text.name,
      width: 'minmax(0, 1.4fr)',
      isTitle: true,
      cell: ({ name, key_id }) => <span title={key_id}>{name ?? text.unnamed}</span>,
    },
    {
      key: 'mode',
      head: text.mode,
      width: '90px',
      cell: ({ mode }) => <KeyMode mode={mode} />,
    },
    {
      key: 'scopes',
      head: text.scopes,
      width: 'minmax(0, 2fr)',
      cell: ({ scopes }) => {
        const names = scopes.map((scope) => text.scopeNames[scope]).join(', ')
        return <span title={names}>{names || text.everything}</span>
      },
    },
    {
      key: 'networks',
      head: text.networks,
      cell: ({ networks }) => networks.join(', ') || text.everywhere,
    },
    {
      key: 'used',
      head: text.lastUsed,
      width: '130px',
      cell: ({ last_used_at }) => <Time at={last_used_at} isHour />,
    },
    { key: 'state', head: text.state, width: '140px', cell: (key) => <KeyState apiKey={key} /> },
    {
      key: 'revoke',
      head: '',
      width: '110px',
      align: 'end',
      cell: (key) =>
        key.revoked_at === null && (
          <SmallAction operation="revokeKey" onClick={() => revoke(key)}>
            {text.revoke}
          </SmallAction>
        ),
    },
  ]
}

function KeyState({ apiKey: { revoked_at, expires_at } }: { readonly apiKey: ApiKey }) {
  const text = useWords(words)
  if (revoked_at !== null) return <StateMark tone="muted">{text.revoked}</StateMark>
  if (expires_at === null) return <StateMark tone="good">{text.active}</StateMark>
  if (new Date(expires_at) <= new Date()) return <StateMark tone="muted">{text.expired}</StateMark>
  return (
    <span>
      {text.expires} <Time at={expires_at} />
    </span>
  )
}

function Revoke({
  apiKey,
  close,
}: {
  readonly apiKey: ApiKey | undefined
  readonly close: () => void
}) {
  const text = useWords(words)
  const { tenantId, client } = useTenant()
  const revoke = useMutation({
    mutationFn: (keyId: string) => client.revokeKey(keyId),
    onSuccess() {
      tellDone(text.revokedDone)
      close()
    },
    onSettled: () => queryClient.invalidateQueries({ queryKey: [tenantId, 'keys'] }),
  })
  return (
    <Confirm
      title={text.revokeTitle}
      confirm={text.revoke}
      isDangerous
      isOpen={apiKey !== undefined}
      close={close}
      isBusy={revoke.isPending}
      error={revoke.error}
      onConfirm={() => apiKey !== undefined && revoke.mutate(apiKey.key_id)}
    >
      <p>{text.revokeHelp(apiKey?.name ?? apiKey?.key_id ?? '')}</p>
    </Confirm>
  )
}

function Snippets({ from }: { readonly from: string }) {
  const text = useWords(words)
  const snippets = sendSnippets(from)
  return (
    <Card title={text.snippets} note={text.snippetsNote}>
      <Tabs defaultValue="curl">
        <Tabs.List>
          <Tabs.Tab value="curl">{text.curl}</Tabs.Tab>
          <Tabs.Tab value="typescript">{text.typescript}</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="curl" pt={8}>
          <CodeBlock code={snippets.curl} label={text.curl} />
        </Tabs.Panel>
        <Tabs.Panel value="typescript" pt={8}>
          <CodeBlock code={snippets.typescript} label={text.typescript} />
        </Tabs.Panel>
      </Tabs>
    </Card>
  )
}
