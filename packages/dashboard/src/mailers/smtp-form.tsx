/** Adds an SMTP server, or changes it: the login is tried before anything is saved. */
import type { Mailer, SecureMode } from '@postrider/client'
import { useMutation } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { queryClient } from '../api/query-client.ts'
import { useTenant } from '../session/use-tenant.ts'
import { Checkbox, PasswordInput, Select, TextInput } from '../ui/controls.ts'
import { Dialog, DialogEnd } from '../ui/dialog.tsx'
import { tellDone } from '../ui/toast.ts'
import { useWords } from '../words/define-words.ts'
import { providers } from './providers.ts'
import classes from './smtp-form.module.css'
import { words } from './words.ts'

const modes: readonly SecureMode[] = ['Auto', 'Tls', 'SSL', 'None']

export function SmtpForm(o: {
  readonly isOpen: boolean
  readonly close: () => void
  /** What is changed; without it one is added. */
  readonly mailer?: Mailer
  /** The page stays where it is, in place of the mailer's own. */
  readonly isStaying?: boolean
}) {
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

function Form({
  mailer,
  close,
  isStaying = false,
}: {
  readonly mailer?: Mailer
  readonly close: () => void
  readonly isStaying?: boolean
}) {
  const text = useWords(words)
  const { tenantId, client } = useTenant()
  const navigate = useNavigate()
  const isNew = mailer === undefined
  const [provider, setProvider] = useState('')
  const [name, setName] = useState(mailer?.name ?? '')
  const [email, setEmail] = useState(mailer?.email ?? '')
  const [host, setHost] = useState(mailer?.config.host ?? '')
  const [port, setPort] = useState(String(mailer?.config.port ?? 587))
  const [secure, setSecure] = useState<SecureMode>(mailer?.config.secure ?? 'Auto')
  const [username, setUsername] = useState(mailer?.config.username ?? '')
  const [password, setPassword] = useState('')
  const [isTried, setTried] = useState(true)
  const save = useMutation({
    async mutationFn() {
      const server = { host: host.trim(), port: Number(port), secure }
      const login = {
        ...(username !== '' && { username }),
        ...(password !== '' && { password }),
      }
      if (isNew) {
        const made = await client.configureSMTP({
          ...{ name: name.trim() || email, email: email.trim(), verify: isTried },
          config_type: 'smtp',
          connection_type: 'basic',
          config: { ...server, ...login },
        })
        return made.mailer.mailer_id
      }
      await client.updateSMTP({
        ...{ mailer_id: mailer.mailer_id, name: name.trim(), email: email.trim(), verify: isTried },
        config: { ...server, username: username || null, ...(password !== '' && { password }) },
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
  function choose(chosen: string | null): void {
    setProvider(chosen ?? '')
    const found = providers.find((one) => one.name === chosen)
    if (found === undefined) return
    setHost(found.host)
    setPort(String(found.port))
    setSecure(found.secure)
    if (username === '') setUsername(email)
  }
  return (
    <form
      className={classes.form}
      onSubmit={(event) => {
        event.preventDefault()
        save.mutate()
      }}
    >
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
      <div className={classes.pair}>
        <TextInput
          label={text.sendsFor}
          description={text.sendsForHelp}
          type="email"
          required
          withAsterisk={false}
          data-autofocus={isNew || undefined}
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
        />
        <TextInput
          label={text.yourName}
          description="&nbsp;"
          placeholder={email}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
      </div>
      <div className={classes.server}>
        <TextInput
          label={text.host}
          required
          withAsterisk={false}
          value={host}
          onChange={(event) => setHost(event.currentTarget.value)}
        />
        <TextInput
          label={text.port}
          required
          withAsterisk={false}
          inputMode="numeric"
          pattern="[0-9]{1,5}"
          value={port}
          onChange={(event) => setPort(event.currentTarget.value)}
        />
        <Select
          label={text.encryption}
          data={modes.map((value) => ({ value, label: text.secureModes[value] }))}
          value={secure}
          onChange={(value) => setSecure((value ?? 'Auto') as SecureMode)}
        />
      </div>
      <div className={classes.pair}>
        <TextInput
          label={text.username}
          description={text.usernameHelp}
          autoComplete="off"
          value={username}
          onChange={(event) => setUsername(event.currentTarget.value)}
        />
        <PasswordInput
          label={text.password}
          description={isNew ? '\u00a0' : text.passwordKept}
          autoComplete="new-password"
          data-autofocus={!isNew || undefined}
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
      </div>
      <Checkbox
        label={text.tryLogin}
        checked={isTried}
        onChange={(event) => setTried(event.currentTarget.checked)}
      />
      <DialogEnd
        confirm={isNew && isTried ? text.addAndTest : text.save}
        isBusy={save.isPending}
        error={save.error}
        close={close}
      />
    </form>
  )
}
