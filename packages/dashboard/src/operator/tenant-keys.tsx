/** A tenant's API keys: made, shown once, revoked. */
import type { ApiKey, ApiKeyScope } from '@postrider/client'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { queryClient } from '../api/query-client.ts'
import { usePages } from '../api/use-pages.ts'
import { ActionButton } from '../session/action-button.tsx'
import { clientOf } from '../session/client.ts'
import { useTenant } from '../session/use-tenant.ts'
import { Empty } from '../ui/answers.tsx'
import { Button, MultiSelect, TextInput } from '../ui/controls.ts'
import { type Column, PagedTable } from '../ui/data-table.tsx'
import { Confirm, Dialog, DialogEnd, DialogForm } from '../ui/dialog.tsx'
import { useNow } from '../ui/now.ts'
import { Card } from '../ui/page.tsx'
import { StateMark } from '../ui/state-mark.tsx'
import { Time } from '../ui/time.tsx'
import { tellDone, tellFailed } from '../ui/toast.ts'
import { useWords } from '../words/define-words.ts'
import { ShownOnce } from './shown-once.tsx'
import { keyTones, stateOfKey } from './states.ts'
import { words } from './words.ts'

const scopes: readonly ApiKeyScope[] = ['send', 'webhooks', 'mailers', 'read', 'content', 'keys']

export function TenantKeys({ tenantId }: { readonly tenantId: string }) {
  const text = useWords(words)
  const now = useNow()
  const { may } = useTenant()
  const key = ['operator', 'keys', tenantId]
  const [isOpen, setOpen] = useState(false)
  const [toRevoke, setToRevoke] = useState<ApiKey>()
  const [made, setMade] = useState<string>()
  const refresh = () => queryClient.invalidateQueries({ queryKey: key })
  const pages = usePages({
    key,
    name: 'keys',
    list: (page, options) => clientOf().listApiKeys(tenantId, page, options),
  })
  const revoke = useMutation({
    mutationFn: (keyId: string) => clientOf().revokeApiKey(keyId),
    onSuccess: () => tellDone(text.revoked),
    onError: tellFailed,
    onSettled() {
      setToRevoke(undefined)
      return refresh()
    },
  })
  const columns: readonly Column<ApiKey>[] = [
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
      cell: ({ last_used_at }) => <Time at={last_used_at} />,
    },
    {
      key: 'revoke',
      head: text.actions,
      width: '104px',
      align: 'end',
      cell: (one) =>
        may('revokeApiKey') && one.revoked_at === null ? (
          <Button size="xs" variant="default" onClick={() => setToRevoke(one)}>
            {text.revoke}
          </Button>
        ) : null,
    },
  ]
  return (
    <Card
      title={text.keys}
      note={text.keysNote}
      isFlush
      actions={
        <ActionButton
          operation="createApiKey"
          size="xs"
          variant="default"
          onClick={() => setOpen(true)}
        >
          {text.newKey}
        </ActionButton>
      }
    >
      <PagedTable
        pages={pages}
        label={text.keys}
        empty={<Empty title={text.noKeys} />}
        columns={columns}
        rowKey={({ key_id }) => key_id}
      />
      {isOpen && (
        <KeyForm
          tenantId={tenantId}
          close={() => setOpen(false)}
          onMade={(apiKey) => {
            setOpen(false)
            setMade(apiKey)
            void refresh()
          }}
        />
      )}
      <ShownOnce
        title={text.keyCreated}
        help={text.keysNote}
        label={text.keys}
        secret={made}
        close={() => setMade(undefined)}
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

function KeyForm(o: {
  readonly tenantId: string
  readonly close: () => void
  readonly onMade: (apiKey: string) => void
}) {
  const text = useWords(words)
  const [name, setName] = useState('')
  const [chosen, setChosen] = useState<string[]>([])
  const create = useMutation({
    mutationFn: () =>
      clientOf().createApiKey(o.tenantId, {
        name: name.trim(),
        scopes: scopes.filter((scope) => chosen.includes(scope)),
      }),
    onSuccess: ({ api_key }) => o.onMade(api_key),
  })
  return (
    <Dialog title={text.newKey} isOpen close={o.close}>
      <DialogForm submit={() => create.mutate()}>
        <TextInput
          label={text.keyName}
          description={text.keyNameHelp}
          value={name}
          maxLength={200}
          required
          withAsterisk={false}
          data-autofocus
          autoComplete="off"
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <MultiSelect
          label={text.scopes}
          description={text.scopesHelp}
          data={scopes.map((value) => ({ value, label: text.scopeNames[value] }))}
          value={chosen}
          onChange={setChosen}
          {...(chosen.length === 0 && { placeholder: text.everything })}
        />
        <DialogEnd
          confirm={text.createKey}
          isBusy={create.isPending}
          isDisabled={name.trim() === ''}
          error={create.error}
          close={o.close}
        />
      </DialogForm>
    </Dialog>
  )
}
