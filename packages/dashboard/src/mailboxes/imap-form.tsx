/** Adds a mailbox that is read by IMAP, or changes one: the login and the folders are tried first. */
import type { Mailer } from '@postrider/client'
import { useMutation } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { queryClient } from '../api/query-client.ts'
import { isReadOnly } from '../mailers/mailer-kind.ts'
import { providers } from '../mailers/providers.ts'
import {
  readServer,
  type ServerDraft,
  ServerFields,
  serverPaths,
} from '../mailers/server-fields.tsx'
import { words as mailerWords } from '../mailers/words.ts'
import { useTenant } from '../session/use-tenant.ts'
import { Checkbox, helpBelow, PasswordInput, Select, Textarea, TextInput } from '../ui/controls.ts'
import { Dialog, DialogEnd, DialogForm } from '../ui/dialog.tsx'
import { fieldErrors } from '../ui/field-errors.ts'
import classes from '../ui/form.module.css'
import { tellDone } from '../ui/toast.ts'
import { type Header, HeaderFields, readHeaders } from '../webhooks/header-fields.tsx'
import { SigningSecret, SigningSwitch } from '../webhooks/signing-secret.tsx'
import { useWords } from '../words/define-words.ts'
import { changedWebhook, readFolders } from './mailbox-settings.ts'
import { words } from './words.ts'

const imapProviders = providers.filter(({ imap }) => imap !== undefined)
const paths = [
  ...['/name', '/email', '/folders', '/since', '/webhook/webhook_url'],
  ...['/config/username', '/config/password', ...serverPaths('/config')],
]

interface FormProps {
  readonly close: () => void
  /** What is changed; without it one is added. */
  readonly mailer?: Mailer
}

export function ImapForm(o: FormProps & { readonly isOpen: boolean }) {
  const text = useWords(words)
  const { edit } = useWords(mailerWords)
  const editing = o.mailer !== undefined && isReadOnly(o.mailer) ? edit : text.foldersAndWebhook
  return (
    <Dialog
      title={o.mailer === undefined ? text.add : editing}
      isOpen={o.isOpen}
      close={o.close}
      size="lg"
    >
      <Form {...o} />
    </Dialog>
  )
}

function Form({ mailer, close }: FormProps) {
  const text = useWords(words)
  const mailerText = useWords(mailerWords)
  const { tenantId, client } = useTenant()
  const navigate = useNavigate()
  const isNew = mailer === undefined
  /** Another one has the server and the login of its OAuth app. */
  const hasPassword = isNew || mailer.connection_type === 'basic'
  const [provider, setProvider] = useState('')
  const [name, setName] = useState(mailer?.name ?? '')
  const [email, setEmail] = useState(mailer?.email ?? '')
  const [server, setServer] = useState<ServerDraft>({
    host: mailer?.config.host ?? '',
    port: String(mailer?.config.port ?? 993),
    secure: mailer?.config.secure ?? 'SSL',
  })
  const [isVerified, setVerified] = useState(mailer?.config.tls_verify ?? true)
  const [username, setUsername] = useState(mailer?.config.username ?? '')
  const [password, setPassword] = useState('')
  const [folders, setFolders] = useState((mailer?.folders ?? ['INBOX']).join('\n'))
  const [since, setSince] = useState('')
  const [url, setUrl] = useState(mailer?.webhook?.webhook_url ?? '')
  const [headers, setHeaders] = useState<readonly Header[]>([])
  const [isSigned, setSigned] = useState(mailer?.webhook?.signing === true)
  const [isTried, setTried] = useState(true)
  const save = useMutation({
    async mutationFn() {
      const config = { ...readServer(server), tls_verify: isVerified }
      const webhook = changedWebhook(mailer?.webhook, {
        ...{ url, headers: readHeaders(headers), isSigned },
      })
      if (isNew) {
        return await client.configureIMAP({
          ...{ name: name.trim() || email.trim(), email: email.trim(), verify: isTried },
          ...{ config_type: 'imap', connection_type: 'basic', folders: readFolders(folders) },
          config: { ...config, username: username.trim() || email.trim(), password },
          ...(webhook && { webhook }),
          ...(since !== '' && { since: new Date(since).toISOString() }),
        })
      }
      // An empty one tries what is stored, so that folders are looked for.
      const tried = isTried ? { config: {} } : {}
      return await client.updateIMAP({
        ...{ mailer_id: mailer.mailer_id, verify: isTried, folders: readFolders(folders) },
        ...(isReadOnly(mailer) && { name: name.trim() }),
        ...(webhook !== undefined && { webhook }),
        ...(hasPassword
          ? {
              email: email.trim(),
              config: {
                ...config,
                ...(username !== '' && { username: username.trim() }),
                ...(password !== '' && { password }),
              },
            }
          : tried),
      })
    },
    async onSuccess(saved) {
      tellDone(mailerText.saved)
      // A secret is shown once: the dialog stays until it has been copied.
      if (saved.signing_secret === undefined) await end(saved.mailer.mailer_id)
      else await queryClient.invalidateQueries({ queryKey: [tenantId, 'mailers'] })
    },
  })
  async function end(mailerId: string): Promise<void> {
    close()
    await queryClient.invalidateQueries({ queryKey: [tenantId] })
    await navigate({ to: '/t/$tenantId/mailers/$mailerId', params: { tenantId, mailerId } })
  }
  const errors = fieldErrors(save.error, paths)
  function choose(chosen: string | null): void {
    setProvider(chosen ?? '')
    const host = providers.find((one) => one.name === chosen)?.imap
    if (host === undefined) return
    setServer({ host, port: '993', secure: 'SSL' })
    if (username === '') setUsername(email)
  }
  if (save.data?.signing_secret !== undefined) {
    const { mailer_id: mailerId } = save.data.mailer
    return <SigningSecret secret={save.data.signing_secret} close={() => void end(mailerId)} />
  }
  const nameField = (
    <TextInput
      {...helpBelow}
      label={mailerText.yourName}
      placeholder={email}
      required={!isNew}
      withAsterisk={false}
      value={name}
      error={errors.of('/name')}
      onChange={(event) => setName(event.currentTarget.value)}
    />
  )
  return (
    <DialogForm submit={() => save.mutate()}>
      {isNew && (
        <Select
          label={mailerText.provider}
          placeholder={mailerText.otherProvider}
          data={imapProviders.map((one) => one.name)}
          value={provider === '' ? null : provider}
          onChange={choose}
          clearable
          searchable
        />
      )}
      {hasPassword ? (
        <>
          <div className={classes.pair}>
            <TextInput
              {...helpBelow}
              label={text.address}
              type="email"
              required
              withAsterisk={false}
              data-autofocus={isNew || undefined}
              value={email}
              error={errors.of('/email')}
              onChange={(event) => setEmail(event.currentTarget.value)}
            />
            {nameField}
          </div>
          <ServerFields value={server} onChange={setServer} errors={errors} path="/config" />
          <div className={classes.pair}>
            <TextInput
              {...helpBelow}
              label={mailerText.username}
              description={isNew ? text.usernameHelp : undefined}
              autoComplete="off"
              value={username}
              error={errors.of('/config/username')}
              onChange={(event) => setUsername(event.currentTarget.value)}
            />
            <PasswordInput
              {...helpBelow}
              label={mailerText.password}
              description={isNew ? undefined : mailerText.passwordKept}
              autoComplete="new-password"
              required={isNew}
              withAsterisk={false}
              value={password}
              error={errors.of('/config/password')}
              onChange={(event) => setPassword(event.currentTarget.value)}
            />
          </div>
        </>
      ) : (
        isReadOnly(mailer) && nameField
      )}
      <div className={classes.pair}>
        <Textarea
          {...helpBelow}
          label={text.folders}
          description={text.foldersHelp}
          autosize
          minRows={2}
          required
          withAsterisk={false}
          value={folders}
          error={errors.of('/folders')}
          onChange={(event) => setFolders(event.currentTarget.value)}
        />
        {isNew && (
          <TextInput
            {...helpBelow}
            type="datetime-local"
            label={text.sinceLabel}
            description={text.sinceHelp}
            value={since}
            error={errors.of('/since')}
            onChange={(event) => setSince(event.currentTarget.value)}
          />
        )}
      </div>
      <TextInput
        {...helpBelow}
        label={text.webhookUrl}
        description={text.webhookHelp}
        type="url"
        placeholder="https://hooks.example.com/mail"
        value={url}
        error={errors.of('/webhook/webhook_url')}
        onChange={(event) => setUrl(event.currentTarget.value)}
      />
      {url.trim() !== '' && (
        <>
          <HeaderFields
            headers={headers}
            onChange={setHeaders}
            present={mailer?.webhook?.headers_present ?? []}
          />
          <SigningSwitch isSigned={isSigned} set={setSigned} />
        </>
      )}
      <div className={classes.group}>
        {hasPassword && (
          <Checkbox
            label={mailerText.verifyCertificate}
            checked={isVerified}
            onChange={(event) => setVerified(event.currentTarget.checked)}
          />
        )}
        <Checkbox
          label={text.tryMailbox}
          checked={isTried}
          onChange={(event) => setTried(event.currentTarget.checked)}
        />
      </div>
      <DialogEnd
        confirm={isNew && isTried ? mailerText.addAndTest : mailerText.save}
        isBusy={save.isPending}
        error={errors.rest}
        close={close}
      />
    </DialogForm>
  )
}
