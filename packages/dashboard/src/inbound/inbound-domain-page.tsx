/** A domain that receives: its records, where its mail goes, and the routes of single addresses. */
import type { InboundDomain } from '@postrider/client'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { queryClient } from '../api/query-client.ts'
import { usePages } from '../api/use-pages.ts'
import { Records } from '../domains/records.tsx'
import { ActionButton, SmallAction } from '../session/action-button.tsx'
import { EmptyList } from '../session/empty-list.tsx'
import { useTenant } from '../session/use-tenant.ts'
import { Answer } from '../ui/answers.tsx'
import { TextInput } from '../ui/controls.ts'
import { Copyable } from '../ui/copy.tsx'
import { PagedTable } from '../ui/data-table.tsx'
import { Confirm, Dialog, DialogEnd, DialogForm } from '../ui/dialog.tsx'
import { Card, Fields, Page } from '../ui/page.tsx'
import { RequiredInput } from '../ui/required-input.tsx'
import { Time } from '../ui/time.tsx'
import { tellDone, tellFailed } from '../ui/toast.ts'
import {
  RotateSecret,
  SigningSecret,
  SigningSwitch,
  useSignedFact,
} from '../webhooks/signing-secret.tsx'
import { words as webhookWords } from '../webhooks/words.ts'
import { useWords } from '../words/define-words.ts'
import { InboundDomainForm } from './inbound-domain-form.tsx'
import { InboundStateMark } from './inbound-state.tsx'
import { usernameSnippets } from './snippets.ts'
import { words } from './words.ts'

export function InboundDomainPage() {
  const { tenantId, client } = useTenant()
  const { domain: name } = useParams({ from: '/shell/t/$tenantId/inbound/domains/$domain' })
  const domain = useQuery({
    queryKey: [tenantId, 'inbound-domain', name],
    queryFn: async ({ signal }) => (await client.getInboundDomain(name, { signal })).inbound_domain,
    refetchInterval: 20_000,
  })
  return <Answer query={domain}>{(found) => <Found domain={found} />}</Answer>
}

function Found({ domain }: { readonly domain: InboundDomain }) {
  const text = useWords(words)
  const { tenantId, client } = useTenant()
  const navigate = useNavigate()
  const { rotate } = useWords(webhookWords)
  const signed = useSignedFact(domain.signing)
  const [open, setOpen] = useState<'edit' | 'secret' | 'delete'>()
  const close = () => setOpen(undefined)
  const remove = useMutation({
    mutationFn: () => client.deleteInboundDomain(domain.domain),
    async onSuccess() {
      tellDone(text.deleted)
      await navigate({
        to: '/t/$tenantId/inbound',
        params: { tenantId },
        search: { tab: 'domains' },
      })
      await queryClient.invalidateQueries({ queryKey: [tenantId, 'inbound-domains'] })
    },
  })
  return (
    <Page
      title={domain.domain}
      trail={
        <Link to="/t/$tenantId/inbound" params={{ tenantId }} search={{ tab: 'domains' }}>
          {text.inbound}
        </Link>
      }
      lead={<InboundStateMark state={domain.state} />}
      actions={
        <>
          {domain.signing === true && (
            <ActionButton
              variant="default"
              operation="rotateSigningSecret"
              onClick={() => setOpen('secret')}
            >
              {rotate}
            </ActionButton>
          )}
          <ActionButton
            variant="default"
            operation="updateInboundDomain"
            onClick={() => setOpen('edit')}
          >
            {text.edit}
          </ActionButton>
          <ActionButton
            variant="default"
            operation="deleteInboundDomain"
            onClick={() => setOpen('delete')}
          >
            {text.delete}
          </ActionButton>
        </>
      }
    >
      <Card>
        <Fields
          entries={[
            [text.url, <Copyable value={domain.url} />],
            [text.headers, domain.headers_present.join(', ') || text.none],
            signed,
            [text.lastCheck, <Time at={domain.last_check_at} />],
          ]}
        />
      </Card>
      <Usernames domain={domain.domain} />
      <Records records={domain.records} />
      <Dialog title={text.edit} isOpen={open === 'edit'} close={close} size="lg">
        <InboundDomainForm stored={domain} close={close} />
      </Dialog>
      <RotateSecret webhookId={domain.webhook_id} isOpen={open === 'secret'} close={close} />
      <Confirm
        title={text.deleteTitle}
        confirm={text.delete}
        nameToType={domain.domain}
        isDangerous
        isOpen={open === 'delete'}
        close={close}
        isBusy={remove.isPending}
        error={remove.error}
        onConfirm={() => remove.mutate()}
      >
        <p>{text.deleteHelp}</p>
      </Confirm>
    </Page>
  )
}

function Usernames({ domain }: { readonly domain: string }) {
  const text = useWords(words)
  const { tenantId, client } = useTenant()
  const { signed: signedHead } = useWords(webhookWords)
  const [isAdding, setAdding] = useState(false)
  const key = [tenantId, 'inbound-usernames', domain]
  const refresh = () => queryClient.invalidateQueries({ queryKey: key })
  const pages = usePages({
    key,
    name: 'inbound_usernames',
    list: (page, options) => client.listInboundUsernames(domain, page, options),
  })
  const remove = useMutation({
    mutationFn: (username: string) => client.deleteInboundUsername(domain, username),
    onSuccess: () => tellDone(text.removed),
    onError: tellFailed('delete'),
    onSettled: refresh,
  })
  const add = (
    <SmallAction operation="createInboundUsername" onClick={() => setAdding(true)}>
      {text.addUsername}
    </SmallAction>
  )
  return (
    <Card
      title={text.usernames}
      note={text.usernamesNote}
      isFlush
      actions={pages.entries?.length !== 0 && add}
    >
      <PagedTable
        pages={pages}
        label={text.usernames}
        rowKey={({ username }) => username}
        columns={[
          { key: 'name', head: text.username, isTitle: true, cell: ({ username }) => username },
          {
            key: 'url',
            head: text.url,
            width: 'minmax(0, 2fr)',
            cell: ({ url, url_inherited }) => (url_inherited ? text.inherited : <code>{url}</code>),
          },
          {
            key: 'signed',
            head: signedHead,
            width: '90px',
            cell: ({ signing }) => (signing === true ? text.yes : text.no),
          },
          {
            key: 'remove',
            head: '',
            width: '120px',
            align: 'end',
            cell: ({ username }) => (
              <SmallAction
                operation="deleteInboundUsername"
                onClick={() => remove.mutate(username)}
              >
                {text.remove}
              </SmallAction>
            ),
          },
        ]}
        empty={
          <EmptyList title={text.noUsernames} action={add} snippets={usernameSnippets(domain)}>
            {text.noUsernamesHelp}
          </EmptyList>
        }
      />
      <Dialog title={text.addUsername} isOpen={isAdding} close={() => setAdding(false)}>
        <AddUsername domain={domain} close={() => setAdding(false)} refresh={refresh} />
      </Dialog>
    </Card>
  )
}

function AddUsername(o: {
  readonly domain: string
  readonly close: () => void
  readonly refresh: () => Promise<void>
}) {
  const text = useWords(words)
  const { client } = useTenant()
  const [username, setUsername] = useState('')
  const [url, setUrl] = useState('')
  const [isSigned, setSigned] = useState(false)
  const hasUrl = url.trim() !== ''
  const add = useMutation({
    mutationFn: () =>
      client.createInboundUsername({
        ...{ domain: o.domain, username: username.trim() },
        ...(hasUrl && { url: url.trim(), ...(isSigned && { signing: true }) }),
      }),
    onSuccess({ signing_secret: secret }) {
      tellDone(text.added)
      // A secret is shown once: the dialog stays until it has been copied.
      if (secret === undefined) o.close()
    },
    onSettled: o.refresh,
  })
  if (add.data?.signing_secret !== undefined)
    return <SigningSecret secret={add.data.signing_secret} close={o.close} />
  return (
    <DialogForm submit={() => add.mutate()}>
      <RequiredInput
        label={text.username}
        description={text.usernameHelp}
        data-autofocus
        value={username}
        set={setUsername}
      />
      <TextInput
        label={text.ownUrl}
        value={url}
        onChange={(event) => setUrl(event.currentTarget.value)}
      />
      {hasUrl && <SigningSwitch isSigned={isSigned} set={setSigned} />}
      <DialogEnd
        confirm={text.addUsername}
        isBusy={add.isPending}
        error={add.error}
        close={o.close}
      />
    </DialogForm>
  )
}
