/** The tenant's registrations at OAuth providers: what to register there, new secrets, removal. */
import type { OAuthApp } from '@postrider/client'
import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { queryClient } from '../api/query-client.ts'
import { words as mailerWords } from '../mailers/words.ts'
import { ActionButton } from '../session/action-button.tsx'
import { EmptyList } from '../session/empty-list.tsx'
import { useTenant } from '../session/use-tenant.ts'
import { Answer } from '../ui/answers.tsx'
import { Copyable } from '../ui/copy.tsx'
import { Confirm, Dialog } from '../ui/dialog.tsx'
import { Card, Fields, Page, Stack } from '../ui/page.tsx'
import { Time } from '../ui/time.tsx'
import { tellDone } from '../ui/toast.ts'
import { useWords } from '../words/define-words.ts'
import { AppForm } from './app-form.tsx'
import { ConnectMailbox } from './connect.tsx'
import { appSnippets } from './snippets.ts'
import { useApps } from './use-apps.ts'
import { words } from './words.ts'

export function OAuthAppsPage() {
  const text = useWords(words)
  const { tenantId } = useTenant()
  const { mailers } = useWords(mailerWords)
  const apps = useApps()
  const [isAdding, setAdding] = useState(false)
  const close = () => setAdding(false)
  const add = (
    <ActionButton
      operation="createOAuthApp"
      leftSection={<Plus size={15} aria-hidden />}
      onClick={() => setAdding(true)}
    >
      {text.addApp}
    </ActionButton>
  )
  return (
    <Page
      title={text.apps}
      lead={text.appsLead}
      trail={
        <Link to="/t/$tenantId/mailers" params={{ tenantId }}>
          {mailers}
        </Link>
      }
      actions={apps.data?.apps.length !== 0 && add}
    >
      <Answer query={apps}>
        {(found) =>
          found.apps.length === 0 ? (
            <Card isFlush>
              <EmptyList title={text.noApps} action={add} snippets={appSnippets()}>
                {text.noAppsHelp}
              </EmptyList>
            </Card>
          ) : (
            <Stack>
              {found.apps.map((app) => (
                <AppCard key={app.app_id} app={app} />
              ))}
            </Stack>
          )
        }
      </Answer>
      <Dialog title={text.addApp} isOpen={isAdding} close={close} size="lg">
        <AppForm close={close} onSaved={close} />
      </Dialog>
    </Page>
  )
}

function AppCard({ app }: { readonly app: OAuthApp }) {
  const text = useWords(words)
  const { tenantId, client } = useTenant()
  const [open, setOpen] = useState<'connect' | 'change' | 'delete'>()
  const close = () => setOpen(undefined)
  const remove = useMutation({
    mutationFn: () => client.deleteOAuthApp(app.app_id),
    async onSuccess() {
      tellDone(text.appDeleted)
      close()
      await queryClient.invalidateQueries({ queryKey: [tenantId, 'oauth-apps'] })
    },
  })
  const small = { size: 'xs', variant: 'default' } as const
  const serverOf = (server: OAuthApp['smtp']) =>
    server === undefined ? text.noServer : <code>{`${server.host}:${server.port}`}</code>
  const change = app.provider === 'custom' ? text.change : text.newSecret
  return (
    <Card
      title={app.app_id}
      note={text.providers[app.provider]}
      actions={
        <>
          <ActionButton {...small} operation="oauthLogin" onClick={() => setOpen('connect')}>
            {text.connect}
          </ActionButton>
          <ActionButton {...small} operation="updateOAuthApp" onClick={() => setOpen('change')}>
            {change}
          </ActionButton>
          <ActionButton {...small} operation="deleteOAuthApp" onClick={() => setOpen('delete')}>
            {text.delete}
          </ActionButton>
        </>
      }
    >
      <Fields
        entries={[
          [text.callback, <Copyable value={app.callback_url} />],
          [text.clientId, <Copyable value={app.client_id} />],
          [text.clientSecret, text.secretStored],
          app.scopes === undefined ? undefined : [text.scopes, <code>{app.scopes.join(' ')}</code>],
          [text.authorizeUrl, <code>{app.authorize_url}</code>],
          [text.sendingServer, serverOf(app.smtp)],
          [text.readingServer, serverOf(app.imap)],
          [text.changed, <Time at={app.updated_at} />],
        ]}
      />
      <ConnectMailbox appId={app.app_id} isOpen={open === 'connect'} close={close} />
      <Dialog title={`${change}: ${app.app_id}`} isOpen={open === 'change'} close={close} size="lg">
        <AppForm app={app} close={close} onSaved={close} />
      </Dialog>
      <Confirm
        title={text.deleteAppTitle}
        confirm={text.delete}
        nameToType={app.app_id}
        isDangerous
        isOpen={open === 'delete'}
        close={close}
        isBusy={remove.isPending}
        error={remove.error}
        onConfirm={() => remove.mutate()}
      >
        <p>{text.deleteAppHelp}</p>
      </Confirm>
    </Card>
  )
}
