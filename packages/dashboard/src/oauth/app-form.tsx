/** Registers an OAuth app, or changes it: what to do at the provider stands beside the fields. */
import type { OAuthApp, OAuthProvider } from '@postrider/client'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { queryClient } from '../api/query-client.ts'
import { ServerFields, serverPaths } from '../mailers/server-fields.tsx'
import { fieldOf } from '../mailers/server-login.tsx'
import { useTenant } from '../session/use-tenant.ts'
import { PasswordInput, Select, TextInput } from '../ui/controls.ts'
import { CodeBlock } from '../ui/copy.tsx'
import { DialogEnd, DialogForm } from '../ui/dialog.tsx'
import { type FieldErrors, fieldErrors } from '../ui/field-errors.ts'
import classes from '../ui/form.module.css'
import { tellDone } from '../ui/toast.ts'
import { useWords } from '../words/define-words.ts'
import { type AppDraft, appChangeOf, draftOf, newAppOf } from './app-draft.ts'
import own from './oauth.module.css'
import { useApps } from './use-apps.ts'
import { wayBack } from './use-log-in.ts'
import { words } from './words.ts'

const providers: readonly OAuthProvider[] = ['google', 'microsoft', 'custom']
const consoles: Readonly<Record<OAuthProvider, string | undefined>> = {
  google: 'https://console.cloud.google.com/apis/credentials',
  microsoft: 'https://entra.microsoft.com/',
  custom: undefined,
}
const paths = [
  ...['/app_id', '/client_id', '/client_secret', '/authorize_url', '/token_url', '/userinfo_url'],
  ...['/scopes', ...serverPaths('/smtp'), ...serverPaths('/imap')],
]

interface FormProps {
  readonly draft: AppDraft
  readonly change: (part: Partial<AppDraft>) => void
  readonly errors: FieldErrors
  readonly isNew: boolean
}

export function AppForm(o: {
  readonly close: () => void
  /** What is changed; without it one is registered. */
  readonly app?: OAuthApp
  readonly onSaved: (app: OAuthApp) => void
  readonly lead?: string | undefined
}) {
  const text = useWords(words)
  const { app } = o
  const isNew = app === undefined
  const [draft, setDraft] = useState(draftOf(app))
  const save = useSave(draft, app, o.onSaved)
  const errors = fieldErrors(save.error, paths)
  const form: FormProps = {
    ...{ draft, errors, isNew },
    change: (part) => setDraft({ ...draft, ...part }),
  }
  return (
    <DialogForm submit={() => save.mutate()}>
      {o.lead !== undefined && <p>{o.lead}</p>}
      {isNew && <ProviderFields {...form} />}
      <CredentialFields {...form} />
      {isNew && <NewAppFields {...form} />}
      {draft.provider === 'custom' && <CustomFields {...form} />}
      <DialogEnd
        confirm={isNew ? text.addApp : text.save}
        isBusy={save.isPending}
        error={errors.rest}
        close={o.close}
      />
    </DialogForm>
  )
}

function useSave(draft: AppDraft, app: OAuthApp | undefined, onSaved: (app: OAuthApp) => void) {
  const text = useWords(words)
  const { tenantId, client } = useTenant()
  return useMutation({
    mutationFn: async () => {
      if (app === undefined)
        return (await client.createOAuthApp(newAppOf(draft, wayBack(tenantId)))).app
      return (await client.updateOAuthApp({ app_id: app.app_id, ...appChangeOf(draft) })).app
    },
    async onSuccess(saved) {
      tellDone(text.appSaved)
      await queryClient.invalidateQueries({ queryKey: [tenantId, 'oauth-apps'] })
      onSaved(saved)
    },
  })
}

/** What a field needs whose text no browser fills in. */
function typedOf(
  form: FormProps,
  name: keyof Omit<AppDraft, 'provider' | 'smtp' | 'imap'>,
  path: string,
) {
  return { ...fieldOf(form, name, path), autoComplete: 'off' }
}

function ProviderFields({ draft, change }: FormProps) {
  const text = useWords(words)
  return (
    <>
      <Select
        label={text.provider}
        data={providers.map((value) => ({ value, label: text.providers[value] }))}
        value={draft.provider}
        onChange={(value) =>
          change({ provider: providers.find((one) => one === value) ?? 'google' })
        }
      />
      <Registration provider={draft.provider} />
    </>
  )
}

function CredentialFields(form: FormProps) {
  const text = useWords(words)
  const { draft, isNew } = form
  const isCustom = draft.provider === 'custom'
  return (
    <div className={classes.pair}>
      {isNew && (
        <TextInput
          label={text.clientId}
          required
          data-autofocus
          {...typedOf(form, 'clientId', '/client_id')}
        />
      )}
      <PasswordInput
        {...fieldOf(form, 'clientSecret', '/client_secret')}
        label={text.clientSecret}
        description={isNew ? text.secretHelp : isCustom ? text.secretKept : text.secretReplaced}
        autoComplete="new-password"
        required={isNew || !isCustom}
        data-autofocus={!isNew || undefined}
      />
    </div>
  )
}

function NewAppFields(form: FormProps) {
  const text = useWords(words)
  const { draft } = form
  return (
    <>
      <TextInput
        {...typedOf(form, 'appId', '/app_id')}
        label={text.appId}
        description={text.appIdHelp}
        placeholder={draft.provider}
      />
      {draft.provider === 'microsoft' && (
        <TextInput
          {...typedOf(form, 'directory', '/token_url')}
          label={text.directory}
          description={text.directoryHelp}
        />
      )}
    </>
  )
}

/** Of other providers, the service knows all of this. */
function CustomFields(form: FormProps) {
  const text = useWords(words)
  const { draft, change, errors, isNew } = form
  return (
    <>
      {isNew && (
        <>
          <div className={classes.pair}>
            <TextInput
              label={text.authorizeUrl}
              required
              {...typedOf(form, 'authorizeUrl', '/authorize_url')}
            />
            <TextInput
              label={text.tokenUrl}
              required
              {...typedOf(form, 'tokenUrl', '/token_url')}
            />
          </div>
          <TextInput
            label={text.userinfoUrl}
            description={text.userinfoHelp}
            {...typedOf(form, 'userinfoUrl', '/userinfo_url')}
          />
        </>
      )}
      <TextInput
        {...typedOf(form, 'scopes', '/scopes')}
        label={text.scopes}
        description={text.scopesHelp}
      />
      <fieldset className={classes.group}>
        <legend>{text.sendingServer}</legend>
        <ServerFields
          value={draft.smtp}
          onChange={(smtp) => change({ smtp })}
          errors={errors}
          path="/smtp"
          isOptional
        />
      </fieldset>
      <fieldset className={classes.group}>
        <legend>{text.readingServer}</legend>
        <ServerFields
          value={draft.imap}
          onChange={(imap) => change({ imap })}
          errors={errors}
          path="/imap"
          isOptional
        />
      </fieldset>
    </>
  )
}

/** What is done at the provider, once. */
function Registration({ provider }: { readonly provider: OAuthProvider }) {
  const text = useWords(words)
  const { data } = useApps()
  const console = consoles[provider]
  return (
    <div className={own.registration}>
      <p>
        {console === undefined ? (
          text.register[provider]
        ) : (
          <>
            {text.register[provider]}{' '}
            <a href={console} target="_blank" rel="noreferrer">
              {text.openConsole[provider]}
            </a>
          </>
        )}
      </p>
      <p>{text.registerBack}</p>
      {data !== undefined && <CodeBlock code={data.callback_url} label={text.callback} />}
    </div>
  )
}
