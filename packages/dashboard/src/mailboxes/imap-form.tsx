/** Adds a mailbox that is read by IMAP, or changes one: the login and the folders are tried first. */
import type { ConfigureImapInput, Mailer, UpdateImapInput } from '@postrider/client'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { queryClient } from '../api/query-client.ts'
import { isReadOnly } from '../mailers/mailer-kind.ts'
import { type Provider, providers } from '../mailers/providers.ts'
import {
  fieldOf,
  LoginChecks,
  type LoginDraft,
  LoginFields,
  type LoginFormState,
  loginOf,
  loginPaths,
  NameField,
  ProviderSelect,
  readConfig,
  useEnd,
} from '../mailers/server-login.tsx'
import { words as mailerWords } from '../mailers/words.ts'
import { useTenant } from '../session/use-tenant.ts'
import { Textarea, TextInput } from '../ui/controls.ts'
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
const paths = [...loginPaths, '/folders', '/since', '/webhook/webhook_url']

interface ImapDraft extends LoginDraft {
  readonly folders: string
  readonly since: string
  readonly url: string
  readonly headers: readonly Header[]
  readonly isSigned: boolean
}

interface ImapFormState extends LoginFormState {
  readonly draft: ImapDraft
  readonly change: (part: Partial<ImapDraft>) => void
}

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

function Form(o: FormProps) {
  const text = useWords(words)
  const mailerText = useWords(mailerWords)
  const { mailer, close } = o
  const isNew = mailer === undefined
  const hasPassword = isNew || isByPassword(mailer)
  const [draft, setDraft] = useState(() => draftOf(mailer))
  const change = (part: Partial<ImapDraft>) => setDraft((before) => ({ ...before, ...part }))
  const { save, end } = useSave(draft, o)
  const errors = fieldErrors(save.error, paths)
  if (save.data?.signing_secret !== undefined) {
    const { mailer_id: mailerId } = save.data.mailer
    return <SigningSecret secret={save.data.signing_secret} close={() => void end(mailerId)} />
  }
  const form = { draft, change, errors, isNew }
  return (
    <DialogForm submit={() => save.mutate()}>
      {isNew && (
        <ProviderSelect
          known={imapProviders}
          value={draft.provider}
          choose={(chosen) => change(serverOf(chosen, draft))}
        />
      )}
      {hasPassword ? (
        <LoginFields
          form={form}
          address={{ label: text.address }}
          username={{ description: isNew ? text.usernameHelp : undefined }}
          password={{
            description: isNew ? undefined : mailerText.passwordKept,
            required: isNew,
          }}
        />
      ) : (
        isReadOnly(mailer) && <NameField form={form} />
      )}
      <FolderFields form={form} />
      <WebhookFields form={form} headersPresent={mailer?.webhook?.headers_present ?? []} />
      <LoginChecks form={form} tryLabel={text.tryMailbox} hasServer={hasPassword} />
      <DialogEnd
        confirm={isNew && draft.isTried ? mailerText.addAndTest : mailerText.save}
        isBusy={save.isPending}
        error={errors.rest}
        close={close}
      />
    </DialogForm>
  )
}

/** Another mailer has the server and the login of its OAuth app. */
function isByPassword({ connection_type }: Mailer): boolean {
  return connection_type === 'basic'
}

function draftOf(mailer: Mailer | undefined): ImapDraft {
  return {
    ...loginOf(mailer, { port: '993', secure: 'SSL' }),
    folders: (mailer?.folders ?? ['INBOX']).join('\n'),
    since: '',
    url: mailer?.webhook?.webhook_url ?? '',
    headers: [],
    isSigned: mailer?.webhook?.signing === true,
  }
}

function serverOf(chosen: Provider | undefined, { username, email }: ImapDraft) {
  const provider = chosen?.name ?? ''
  if (chosen?.imap === undefined) return { provider }
  return {
    provider,
    server: { host: chosen.imap, port: '993', secure: 'SSL' as const },
    username: username === '' ? email : username,
  }
}

function useSave(draft: ImapDraft, { mailer, close }: FormProps) {
  const { saved: savedWord } = useWords(mailerWords)
  const { tenantId, client } = useTenant()
  const end = useEnd({ close })
  const save = useMutation({
    mutationFn: async () =>
      mailer === undefined
        ? await client.configureIMAP(newMailboxOf(draft))
        : await client.updateIMAP(changeOf(mailer, draft)),
    async onSuccess(saved) {
      tellDone(savedWord)
      // A secret is shown once: the dialog stays until it has been copied.
      if (saved.signing_secret === undefined) await end(saved.mailer.mailer_id)
      else await queryClient.invalidateQueries({ queryKey: [tenantId, 'mailers'] })
    },
  })
  return { save, end }
}

function newMailboxOf(draft: ImapDraft): ConfigureImapInput {
  const { name, email, username, password, isTried, since } = draft
  const webhook = webhookOf(draft)
  return {
    ...{ name: name.trim() || email.trim(), email: email.trim(), verify: isTried },
    ...{ config_type: 'imap', connection_type: 'basic', folders: readFolders(draft.folders) },
    config: { ...readConfig(draft), username: username.trim() || email.trim(), password },
    ...(webhook && { webhook }),
    ...(since !== '' && { since: new Date(since).toISOString() }),
  }
}

function changeOf(mailer: Mailer, draft: ImapDraft): UpdateImapInput {
  const { name, email, username, password, isTried } = draft
  const webhook = webhookOf(draft, mailer.webhook)
  // An empty one tries what is stored, so that folders are looked for.
  const tried = isTried ? { config: {} } : {}
  return {
    ...{ mailer_id: mailer.mailer_id, verify: isTried, folders: readFolders(draft.folders) },
    ...(isReadOnly(mailer) && { name: name.trim() }),
    ...(webhook !== undefined && { webhook }),
    ...(isByPassword(mailer)
      ? {
          email: email.trim(),
          config: {
            ...readConfig(draft),
            ...(username !== '' && { username: username.trim() }),
            ...(password !== '' && { password }),
          },
        }
      : tried),
  }
}

function webhookOf({ url, headers, isSigned }: ImapDraft, stored?: Mailer['webhook']) {
  return changedWebhook(stored, { url, headers: readHeaders(headers), isSigned })
}

/** Which folders are read. A new mailbox is also told from when on. */
function FolderFields({ form }: { readonly form: ImapFormState }) {
  const text = useWords(words)
  return (
    <div className={classes.pair}>
      <Textarea
        {...fieldOf(form, 'folders', '/folders')}
        label={text.folders}
        description={text.foldersHelp}
        autosize
        minRows={2}
        required
      />
      {form.isNew && (
        <TextInput
          {...fieldOf(form, 'since', '/since')}
          type="datetime-local"
          label={text.sinceLabel}
          description={text.sinceHelp}
        />
      )}
    </div>
  )
}

/** Where the mail of the mailbox goes. */
function WebhookFields({
  form,
  headersPresent,
}: {
  readonly form: ImapFormState
  readonly headersPresent: readonly string[]
}) {
  const text = useWords(words)
  const { draft, change } = form
  return (
    <>
      <TextInput
        {...fieldOf(form, 'url', '/webhook/webhook_url')}
        label={text.webhookUrl}
        description={text.webhookHelp}
        type="url"
        placeholder="https://hooks.example.com/mail"
      />
      {draft.url.trim() !== '' && (
        <>
          <HeaderFields
            headers={draft.headers}
            onChange={(headers) => change({ headers })}
            present={headersPresent}
          />
          <SigningSwitch isSigned={draft.isSigned} set={(isSigned) => change({ isSigned })} />
        </>
      )}
    </>
  )
}
