/** Registers an OAuth app, or changes it: what to do at the provider stands beside the fields. */
import type { OAuthApp, OAuthProvider } from '@postrider/client'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { queryClient } from '../api/query-client.ts'
import { ServerFields, serverPaths } from '../mailers/server-fields.tsx'
import { useTenant } from '../session/use-tenant.ts'
import { helpBelow, PasswordInput, Select, TextInput } from '../ui/controls.ts'
import { CodeBlock } from '../ui/copy.tsx'
import { DialogEnd, DialogForm } from '../ui/dialog.tsx'
import { fieldErrors } from '../ui/field-errors.ts'
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

export function AppForm(o: {
  readonly close: () => void
  /** What is changed; without it one is registered. */
  readonly app?: OAuthApp
  readonly onSaved: (app: OAuthApp) => void
  readonly lead?: string | undefined
}) {
  const text = useWords(words)
  const { tenantId, client } = useTenant()
  const { app } = o
  const isNew = app === undefined
  const [draft, setDraft] = useState(draftOf(app))
  const change = (part: Partial<AppDraft>) => setDraft({ ...draft, ...part })
  const isCustom = draft.provider === 'custom'
  const save = useMutation({
    mutationFn: async () => {
      if (isNew) return (await client.createOAuthApp(newAppOf(draft, wayBack(tenantId)))).app
      return (await client.updateOAuthApp({ app_id: app.app_id, ...appChangeOf(draft) })).app
    },
    async onSuccess(saved) {
      tellDone(text.appSaved)
      await queryClient.invalidateQueries({ queryKey: [tenantId, 'oauth-apps'] })
      o.onSaved(saved)
    },
  })
  const errors = fieldErrors(save.error, paths)
  /** Of a text that is sent as it is typed. */
  const field = (name: 'clientId' | 'authorizeUrl' | 'tokenUrl' | 'userinfoUrl', path: string) => ({
    ...helpBelow,
    autoComplete: 'off',
    withAsterisk: false,
    value: draft[name],
    error: errors.of(path),
    onChange: (event: { currentTarget: { value: string } }) =>
      change({ [name]: event.currentTarget.value }),
  })
  return (
    <DialogForm submit={() => save.mutate()}>
      {o.lead !== undefined && <p>{o.lead}</p>}
      {isNew && (
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
      )}
      <div className={classes.pair}>
        {isNew && (
          <TextInput
            label={text.clientId}
            required
            data-autofocus
            {...field('clientId', '/client_id')}
          />
        )}
        <PasswordInput
          {...helpBelow}
          label={text.clientSecret}
          description={isNew ? text.secretHelp : isCustom ? text.secretKept : text.secretReplaced}
          autoComplete="new-password"
          required={isNew || !isCustom}
          withAsterisk={false}
          data-autofocus={!isNew || undefined}
          value={draft.clientSecret}
          error={errors.of('/client_secret')}
          onChange={(event) => change({ clientSecret: event.currentTarget.value })}
        />
      </div>
      {isNew && (
        <TextInput
          {...helpBelow}
          label={text.appId}
          description={text.appIdHelp}
          placeholder={draft.provider}
          autoComplete="off"
          value={draft.appId}
          error={errors.of('/app_id')}
          onChange={(event) => change({ appId: event.currentTarget.value })}
        />
      )}
      {isNew && draft.provider === 'microsoft' && (
        <TextInput
          {...helpBelow}
          label={text.directory}
          description={text.directoryHelp}
          autoComplete="off"
          value={draft.directory}
          error={errors.of('/token_url')}
          onChange={(event) => change({ directory: event.currentTarget.value })}
        />
      )}
      {isCustom && (
        <>
          {isNew && (
            <>
              <div className={classes.pair}>
                <TextInput
                  label={text.authorizeUrl}
                  required
                  {...field('authorizeUrl', '/authorize_url')}
                />
                <TextInput label={text.tokenUrl} required {...field('tokenUrl', '/token_url')} />
              </div>
              <TextInput
                label={text.userinfoUrl}
                description={text.userinfoHelp}
                {...field('userinfoUrl', '/userinfo_url')}
              />
            </>
          )}
          <TextInput
            {...helpBelow}
            label={text.scopes}
            description={text.scopesHelp}
            autoComplete="off"
            value={draft.scopes}
            error={errors.of('/scopes')}
            onChange={(event) => change({ scopes: event.currentTarget.value })}
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
      )}
      <DialogEnd
        confirm={isNew ? text.addApp : text.save}
        isBusy={save.isPending}
        error={errors.rest}
        close={o.close}
      />
    </DialogForm>
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
