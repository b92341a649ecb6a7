/** A tenant's API keys: made, shown once, revoked. */
import type { ApiKey } from '@postrider/client'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { queryClient } from '../api/query-client.ts'
import { usePages } from '../api/use-pages.ts'
import { CreateKey } from '../developers/create-key.tsx'
import { KeyMode } from '../developers/key-mode.tsx'
import { SmallAction } from '../session/action-button.tsx'
import { clientOf } from '../session/client.ts'
import { EmptyList } from '../session/empty-list.tsx'
import { useTenant } from '../session/use-tenant.ts'
import { Button } from '../ui/controls.ts'
import { type Column, PagedTable } from '../ui/data-table.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { useNow } from '../ui/now.ts'
import { Card } from '../ui/page.tsx'
import { StateMark } from '../ui/state-mark.tsx'
import { Time } from '../ui/time.tsx'
import { tellDone, tellFailed } from '../ui/toast.ts'
import { useWords } from '../words/define-words.ts'
import { tenantKeySnippets } from './snippets.ts'
import { keyTones, stateOfKey } from './states.ts'
import { words } from './words.ts'

export function TenantKeys({ tenantId }: { readonly tenantId: string }) {
  const text = useWords(words)
  const key = ['operator', 'keys', tenantId]
  const [isOpen, setOpen] = useState(false)
  const [toRevoke, setToRevoke] = useState<ApiKey>()
  const refresh = () => queryClient.invalidateQueries({ queryKey: key })
  const pages = usePages({
    key,
    name: 'keys',
    list: (page, options) => clientOf().listApiKeys(tenantId, page, options),
  })
  const revoke = useMutation({
    mutationFn: (keyId: string) => clientOf().revokeApiKey(keyId),
    onSuccess: () => tellDone(text.revoked),
    onError: tellFailed('revoke'),
    onSettled() {
      setToRevoke(undefined)
      return refresh()
    },
  })
  const create = (
    <SmallAction operation="createApiKey" onClick={() => setOpen(true)}>
      {text.newKey}
    </SmallAction>
  )
  return (
    <Card title={text.keys} note={text.keysNote} isFlush actions={create}>
      <PagedTable
        pages={pages}
        label={text.keys}
        empty={
          <EmptyList title={text.noKeys} action={create} snippets={tenantKeySnippets(tenantId)} />
        }
        columns={useColumns(setToRevoke)}
        rowKey={({ key_id }) => key_id}
      />
      <CreateKey
        isOpen={isOpen}
        close={() => setOpen(false)}
        create={(key) => clientOf().createApiKey(tenantId, key)}
        refresh={refresh}
      />
      <Confirm
        title={text.revokeTitle(toRevoke?.name ?? text.unnamed)}
        isOpen={toRevoke !== undefined}
        close={() => setToRevoke(undefined)}
        confirm={text.revoke}
        isDangerous
        isBusy={revoke.isPending}
        onConfirm={() => toRevoke !== undefined && revoke.mutate(toRevoke.key_id)}
      >
        <p>{text.revokeHelp}</p>
      </Confirm>
    </Card>
  )
}

function useColumns(revoke: (key: ApiKey) => void): readonly Column<ApiKey>[] {
  const text = useWords(words)
  const now = useNow()
  const { may } = useTenant()
  return [
    {
      key: 'name',
      head: text.name,
      width: 'minmax(0, 1.4fr)',
      isTitle: true,
      cell: ({ name, key_id }) => <span title={key_id}>{name ?? text.unnamed}</span>,
    },
    {
      key: 'state',
      head: text.state,
      width: '120px',
      cell: (one) => {
        const state = stateOfKey(one, now)
        return <StateMark tone={keyTones[state]}>{text.keyStates[state]}</StateMark>
      },
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
      cell: (one) => {
        const names =
          one.scopes.map((scope) => text.scopeNames[scope]).join(', ') || text.everything
        return <span title={names}>{names}</span>
      },
    },
    {
      key: 'networks',
      head: text.networks,
      cell: ({ networks }) => (
        <span title={networks.join(', ')}>{networks.join(', ') || text.everywhere}</span>
      ),
    },
    {
      key: 'used',
      head: text.lastUsed,
      width: '130px',
      cell: ({ last_used_at }) => <Time at={last_used_at} isHour />,
    },
    {
      key: 'revoke',
      head: text.actions,
      width: '104px',
      align: 'end',
      cell: (one) =>
        may('revokeApiKey') && one.revoked_at === null ? (
          <Button size="xs" variant="default" onClick={() => revoke(one)}>
            {text.revoke}
          </Button>
        ) : null,
    },
  ]
}
