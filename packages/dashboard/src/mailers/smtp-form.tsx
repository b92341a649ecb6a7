/** Adds an SMTP server, or changes a mailer that sends: the login is tried before anything is saved. */
import type { Mailer, UncertainPolicy } from '@postrider/client'
import { useMutation } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { queryClient } from '../api/query-client.ts'
import { useTenant } from '../session/use-tenant.ts'
import { Checkbox, helpBelow, PasswordInput, Select, TextInput } from '../ui/controls.ts'
import { Dialog, DialogEnd, DialogForm } from '../ui/dialog.tsx'
import { fieldErrors } from '../ui/field-errors.ts'
import classes from '../ui/form.module.css'
import { tellDone } from '../ui/toast.ts'
import { useWords } from '../words/define-words.ts'
import { providers } from './providers.ts'
import { readServer, type ServerDraft, ServerFields, serverPaths } from './server-fields.tsx'
import { words } from './words.ts'

const policies: readonly UncertainPolicy[] = ['at_least_once', 'at_most_once']
const paths = [
  ...['/name', '/email', '/uncertain', '/return_path', '/config/username', '/config/password'],
  ...serverPaths('/config'),
]

interface FormProps {
  readonly close: () => void
  /** What is changed; without it one is added. */
  readonly mailer?: Mailer
  /** The page stays where it is, in place of the mailer's own. */
  readonly isStaying?: boolean
}

export function SmtpForm(o: FormProps & { readonly isOpen: boolean }) {
  const text = useWords(words)
  return (
    <Dialog
      title={o.mailer === undefined ? text.addSmtp : text.edit}
      isOpen={o.isOpen}
      close={o.close}
      size="lg"
    >
      <Form {...o} />
    </Dialog>
  )
}

function Form({ mailer, close, isStaying = false }: FormProps) {
  const text = useWords(words)
  const { tenantId, client } = useTenant()
  const navigate = useNavigate()
  const isNew = mailer === undefined
  const isOAuth = mailer?.connection_type === 'oauth'
  const [provider, setProvider] = useState('')
  const [name, setName] = useState(mailer?.name ?? '')
  const [email, setEmail] = useState(mailer?.email ?? '')
  const [server, setServer] = useState<ServerDraft>({
    host: mailer?.config.host ?? '',
    port: String(mailer?.config.port ?? 587),
    secure: mailer?.config.secure ?? 'Auto',
  })
  const [isVerified, setVerified] = useState(mailer?.config.tls_verify ?? true)
  const [typedUsername, setUsername] = useState(mailer?.config.username)
  const [password, setPassword] = useState('')
  const chosen = providers.find((one) => one.name === provider)
  // These providers log in by the address, whether it is typed before or after the provider is chosen.
  const username = typedUsername ?? (chosen === undefined ? '' : email.trim())
  const [isTried, setTried] = useState(true)
  const [uncertain, setUncertain] = useState(mailer?.uncertain ?? 'at_least_once')
  const [returnPath, setReturnPath] = useState(mailer?.return_path ?? '')
  const save = useMutation({
    async mutationFn() {
      const config = { ...readServer(server), tls_verify: isVerified }
      const given = password === '' ? {} : { password }
      if (isNew) {
        const made = await client.configureSMTP({
          ...{ name: name.trim() || email.trim(), email: email.trim(), verify: isTried },
          ...{ config_type: 'smtp', connection_type: 'basic' },
          config: { ...config, ...(username !== '' && { username }), ...given },
        })
        return made.mailer.mailer_id
      }
      await client.updateSMTP({
        ...{ mailer_id: mailer.mailer_id, name: name.trim(), uncertain },
        return_path: returnPath.trim() || null,
        ...(!isOAuth && {
          ...{ email: email.trim(), verify: isTried },
          config: { ...config, username: username || null, ...given },
        }),
      })
      return mailer.mailer_id
    },
    async onSuccess(mailerId) {
      tellDone(text.saved)
      close()
      await queryClient.invalidateQueries({ queryKey: [tenantId] })
      if (isStaying) return
      await navigate({ to: '/t/$tenantId/mailers/$mailerId', params: { tenantId, mailerId } })
    },
  })
  const errors = fieldErrors(save.error, paths)
  function choose(name: string | null): void {
    setProvider(name ?? '')
    const found = providers.find((one) => one.name === name)
    if (found === undefined) return
    setServer({ host: found.host, port: String(found.port), secure: found.secure })
  }
  const nameField = (
    <TextInput
      {...helpBelow}
      label={text.yourName}
      placeholder={email}
      required={!isNew}
      withAsterisk={false}
      data-autofocus={isOAuth || undefined}
      value={name}
      error={errors.of('/name')}
      onChange={(event) => setName(event.currentTarget.value)}
    />
  )
  return (
    <DialogForm submit={() => save.mutate()}>
      {isNew && (
        <Select
          label={text.provider}
          placeholder={text.otherProvider}
          data={providers.map((one) => one.name)}
          value={provider === '' ? null : provider}
          onChange={choose}
          clearable
          searchable
        />
      )}
      {isOAuth ? (
        <>
          {nameField}
          <p className={classes.help}>{text.oauthServer}</p>
        </>
      ) : (
        <>
          <div className={classes.pair}>
            <TextInput
              {...helpBelow}
              label={text.sendsFor}
              description={text.sendsForHelp}
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
              label={text.username}
              description={text.usernameHelp}
              autoComplete="off"
              value={username}
              error={errors.of('/config/username')}
              onChange={(event) => setUsername(event.currentTarget.value)}
            />
            <PasswordInput
              {...helpBelow}
              label={text.password}
              description={
                isNew ? chosen?.login && text.loginHints[chosen.login] : text.passwordKept
              }
              autoComplete="new-password"
              data-autofocus={!isNew || undefined}
              value={password}
              error={errors.of('/config/password')}
              onChange={(event) => setPassword(event.currentTarget.value)}
            />
          </div>
        </>
      )}
      {!isNew && (
        <>
          <Select
            {...helpBelow}
            label={text.uncertain}
            data={policies.map((value) => ({ value, label: text.uncertainWords[value] }))}
            value={uncertain}
            error={errors.of('/uncertain')}
            onChange={(value) =>
              setUncertain(policies.find((one) => one === value) ?? 'at_least_once')
            }
          />
          <TextInput
            {...helpBelow}
            label={text.bouncesTo}
            description={text.bouncesToHelp}
            placeholder={text.toSender}
            value={returnPath}
            error={errors.of('/return_path')}
            onChange={(event) => setReturnPath(event.currentTarget.value)}
          />
        </>
      )}
      {!isOAuth && (
        <div className={classes.group}>
          <Checkbox
            label={text.verifyCertificate}
            checked={isVerified}
            onChange={(event) => setVerified(event.currentTarget.checked)}
          />
          <Checkbox
            label={text.tryLogin}
            checked={isTried}
            onChange={(event) => setTried(event.currentTarget.checked)}
          />
        </div>
      )}
      <DialogEnd
        confirm={isNew && isTried ? text.addAndTest : text.save}
        isBusy={save.isPending}
        error={errors.rest}
        close={close}
      />
    </DialogForm>
  )
}
