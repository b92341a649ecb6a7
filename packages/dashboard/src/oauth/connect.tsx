/** Connects a mailbox by OAuth: by which app, for what, and then the browser goes to the provider. */
import type { OAuthApp, OAuthLoginType } from '@postrider/client'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { useTenant } from '../session/use-tenant.ts'
import { Answer } from '../ui/answers.tsx'
import { Button, Radio, Select } from '../ui/controls.ts'
import { Copyable } from '../ui/copy.tsx'
import { Dialog, DialogEnd, DialogForm } from '../ui/dialog.tsx'
import { fieldErrors } from '../ui/field-errors.ts'
import { useWords } from '../words/define-words.ts'
import { AppForm } from './app-form.tsx'
import own from './oauth.module.css'
import { useApps } from './use-apps.ts'
import { loginTypesOf, useLogIn } from './use-log-in.ts'
import { words } from './words.ts'

interface ConnectProps {
  readonly close: () => void
  /** What is chosen first; the reader may choose another. */
  readonly appId?: string | undefined
  readonly type?: OAuthLoginType
}

export function ConnectMailbox(o: ConnectProps & { readonly isOpen: boolean }) {
  const text = useWords(words)
  return (
    <Dialog title={text.connect} isOpen={o.isOpen} close={o.close} size="lg">
      <Steps {...o} />
    </Dialog>
  )
}

/** Without an app there is one to register first. */
function Steps(o: ConnectProps) {
  const text = useWords(words)
  const apps = useApps()
  const [made, setMade] = useState<OAuthApp>()
  const [isAdding, setAdding] = useState(false)
  return (
    <Answer query={apps} lines={3}>
      {(found) => {
        const known =
          made === undefined || found.apps.some(({ app_id }) => app_id === made.app_id)
            ? found.apps
            : [made, ...found.apps]
        if (isAdding || known.length === 0)
          return (
            <AppForm
              lead={known.length === 0 ? text.firstApp : undefined}
              close={known.length === 0 ? o.close : () => setAdding(false)}
              onSaved={(app) => {
                setMade(app)
                setAdding(false)
              }}
            />
          )
        return (
          <Choice
            {...o}
            key={made?.app_id}
            appId={made?.app_id ?? o.appId}
            apps={known}
            addApp={() => setAdding(true)}
          />
        )
      }}
    </Answer>
  )
}

function Choice({
  apps,
  addApp,
  close,
  ...first
}: ConnectProps & { readonly apps: readonly OAuthApp[]; readonly addApp: () => void }) {
  const text = useWords(words)
  const { may } = useTenant()
  const [appId, setAppId] = useState(first.appId ?? apps[0]?.app_id ?? '')
  const [wanted, setWanted] = useState<OAuthLoginType>(first.type ?? 'smtp')
  const logIn = useLogIn()
  const app = apps.find(({ app_id }) => app_id === appId)
  const types = app === undefined ? [] : loginTypesOf(app)
  const type = types.find((one) => one === wanted) ?? types[0] ?? wanted
  const errors = fieldErrors(logIn.error, ['/app_id', '/type'])
  return (
    <DialogForm submit={() => logIn.mutate({ app_id: appId, type })}>
      <div className={own.more}>
        <Select
          label={text.app}
          data={apps.map(({ app_id, provider }) => ({
            value: app_id,
            label: `${text.providers[provider]} · ${app_id}`,
          }))}
          value={appId}
          error={errors.of('/app_id')}
          onChange={(value) => setAppId(value ?? '')}
        />
        {may('createOAuthApp') && (
          <Button variant="default" leftSection={<Plus size={15} aria-hidden />} onClick={addApp}>
            {text.addApp}
          </Button>
        )}
      </div>
      <Radio.Group
        label={text.use}
        value={type}
        error={errors.of('/type')}
        onChange={(value) => setWanted(types.find((one) => one === value) ?? 'smtp')}
      >
        <div className={own.uses}>
          {types.map((one) => (
            <Radio key={one} value={one} label={text.uses[one]} description={text.useHelp[one]} />
          ))}
        </div>
      </Radio.Group>
      {app !== undefined && (
        <div className={own.registration}>
          <p>{text.whatFollows(text.providers[app.provider])}</p>
          <p>
            {text.callback}: <Copyable value={app.callback_url} />
          </p>
        </div>
      )}
      <DialogEnd
        confirm={app === undefined ? text.connect : text.goTo[app.provider]}
        isBusy={logIn.isPending}
        isDisabled={app === undefined}
        error={errors.rest}
        failed="logIn"
        close={close}
      />
    </DialogForm>
  )
}
