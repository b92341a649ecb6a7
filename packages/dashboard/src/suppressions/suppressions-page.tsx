/** Addresses that nothing is sent to, and why. */
import type { Suppression } from '@postrider/client'
import { useMutation } from '@tanstack/react-query'
import { Link, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { suppressionReasons } from '../api/names.ts'
import { queryClient } from '../api/query-client.ts'
import { usePages } from '../api/use-pages.ts'
import { useSearchChange } from '../app/use-search-change.ts'
import { ActionButton, SmallAction } from '../session/action-button.tsx'
import { EmptyList } from '../session/empty-list.tsx'
import { useTenant } from '../session/use-tenant.ts'
import { Select, TextInput } from '../ui/controls.ts'
import { type Column, PagedTable } from '../ui/data-table.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { type ActiveFilter, NothingMatches } from '../ui/filters.tsx'
import { Card, Page, Row } from '../ui/page.tsx'
import { saveFile } from '../ui/save-file.ts'
import { StateMark, stateIcons } from '../ui/state-mark.tsx'
import { Time } from '../ui/time.tsx'
import { tellDone, tellFailed } from '../ui/toast.ts'
import { useWords } from '../words/define-words.ts'
import { AddSuppression } from './add-suppression.tsx'
import { ImportSuppressions } from './import-suppressions.tsx'
import { suppressionSnippets } from './snippets.ts'
import { words } from './words.ts'

export function SuppressionsPage() {
  const text = useWords(words)
  const { tenantId, client } = useTenant()
  const search = useSearch({ from: '/shell/t/$tenantId/suppressions' })
  const [open, setOpen] = useState<'add' | 'import'>()
  const [removing, setRemoving] = useState<Suppression>()
  const change = useSearchChange(search)
  const pages = usePages({
    key: [tenantId, 'suppressions', search],
    name: 'suppressions',
    list: (page, options) => client.listSuppressions({ ...search, ...page }, options),
  })
  const filters: readonly ActiveFilter[] = [
    ...(search.email === undefined
      ? []
      : [{ name: text.address, value: search.email, drop: () => change({ email: undefined }) }]),
    ...(search.reason === undefined
      ? []
      : [
          {
            name: text.reason,
            value: text.reasons[search.reason],
            drop: () => change({ reason: undefined }),
          },
        ]),
  ]
  const add = (
    <ActionButton operation="addSuppression" onClick={() => setOpen('add')}>
      {text.add}
    </ActionButton>
  )
  return (
    <Page
      title={text.suppressions}
      lead={text.lead}
      actions={
        <>
          <Export />
          <ActionButton
            variant="default"
            operation="importSuppressions"
            onClick={() => setOpen('import')}
          >
            {text.import}
          </ActionButton>
          {(filters.length > 0 || pages.entries?.length !== 0) && add}
        </>
      }
    >
      <Row>
        <TextInput
          key={search.email}
          aria-label={text.address}
          placeholder={text.search}
          defaultValue={search.email ?? ''}
          onKeyDown={(event) => {
            if (event.key === 'Enter') change({ email: event.currentTarget.value.trim() })
          }}
        />
        <Select
          aria-label={text.reason}
          placeholder={text.allReasons}
          clearable
          data={suppressionReasons.map((value) => ({ value, label: text.reasons[value] }))}
          value={search.reason ?? null}
          onChange={(value) => change({ reason: suppressionReasons.find((one) => one === value) })}
        />
      </Row>
      <Card isFlush>
        <PagedTable
          pages={pages}
          label={text.suppressions}
          columns={useColumns(setRemoving)}
          rowKey={({ email }) => email}
          empty={
            filters.length > 0 ? (
              <NothingMatches filters={filters} />
            ) : (
              <EmptyList title={text.noSuppressions} action={add} snippets={suppressionSnippets()}>
                {text.noSuppressionsHelp}
              </EmptyList>
            )
          }
        />
      </Card>
      <AddSuppression isOpen={open === 'add'} close={() => setOpen(undefined)} />
      <ImportSuppressions isOpen={open === 'import'} close={() => setOpen(undefined)} />
      <Remove suppression={removing} close={() => setRemoving(undefined)} />
    </Page>
  )
}

function Export() {
  const text = useWords(words)
  const { client } = useTenant()
  const file = useMutation({
    async mutationFn() {
      const parts: Uint8Array<ArrayBuffer>[] = []
      for await (const part of await client.exportSuppressions()) parts.push(new Uint8Array(part))
      saveFile('suppressions.csv', parts, 'text/csv')
    },
    onError: tellFailed('save'),
  })
  return (
    <ActionButton
      variant="default"
      operation="exportSuppressions"
      loading={file.isPending}
      onClick={() => file.mutate()}
    >
      {text.export}
    </ActionButton>
  )
}

function useColumns(remove: (suppression: Suppression) => void): readonly Column<Suppression>[] {
  const text = useWords(words)
  return [
    {
      key: 'email',
      head: text.address,
      width: 'minmax(0, 2fr)',
      isTitle: true,
      cell: ({ email }) => email,
    },
    {
      key: 'reason',
      head: text.reason,
      width: '170px',
      cell: ({ reason }) => (
        <StateMark tone={reason === 'complained' ? 'bad' : 'muted'} icon={stateIcons.ban}>
          {text.reasons[reason]}
        </StateMark>
      ),
    },
    {
      key: 'why',
      head: text.why,
      width: 'minmax(0, 1.4fr)',
      cell: (row) => <Source suppression={row} />,
    },
    {
      key: 'note',
      head: text.note,
      cell: ({ note }) => note && <span title={note}>{note}</span>,
    },
    {
      key: 'since',
      head: text.since,
      width: '130px',
      cell: ({ created_at }) => <Time at={created_at} />,
    },
    {
      key: 'until',
      head: text.until,
      width: '110px',
      cell: ({ expires_at }) => (expires_at === null ? text.forever : <Time at={expires_at} />),
    },
    {
      key: 'remove',
      head: '',
      width: '110px',
      align: 'end',
      cell: (row) => (
        <SmallAction operation="deleteSuppression" onClick={() => remove(row)}>
          {text.remove}
        </SmallAction>
      ),
    },
  ]
}

/** Which event, report or person it came from; an email's event leads to the email. */
function Source({ suppression: { source } }: { readonly suppression: Suppression }) {
  const text = useWords(words)
  const { tenantId } = useTenant()
  if (source === null) return text.unknownSource
  if (source.ref_id !== undefined)
    return (
      <Link to="/t/$tenantId/emails/$refId" params={{ tenantId, refId: source.ref_id }}>
        <code>{source.event ?? source.ref_id}</code>
      </Link>
    )
  if (source.import !== undefined) return text.byImport(text.formats[source.import])
  if (source.relay !== undefined) return text.byRelay(source.relay)
  if (source.user_id !== undefined) return text.byUser
  if (source.key_id !== undefined)
    return (
      <Link to="/t/$tenantId/developers" params={{ tenantId }}>
        {text.byKey}
      </Link>
    )
  return text.unknownSource
}

function Remove({
  suppression,
  close,
}: {
  readonly suppression: Suppression | undefined
  readonly close: () => void
}) {
  const text = useWords(words)
  const { tenantId, client } = useTenant()
  const remove = useMutation({
    mutationFn: (email: string) => client.deleteSuppression(email),
    onSuccess() {
      tellDone(text.removed)
      close()
    },
    onSettled: () => queryClient.invalidateQueries({ queryKey: [tenantId, 'suppressions'] }),
  })
  return (
    <Confirm
      title={text.removeTitle}
      confirm={text.remove}
      isOpen={suppression !== undefined}
      close={close}
      isBusy={remove.isPending}
      error={remove.error}
      onConfirm={() => suppression !== undefined && remove.mutate(suppression.email)}
    >
      <p>{text.removeHelp(suppression?.email ?? '')}</p>
    </Confirm>
  )
}
