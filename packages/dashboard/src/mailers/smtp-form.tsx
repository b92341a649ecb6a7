/** Adds an SMTP server, or changes a mailer that sends: the login is tried before anything is saved. */
import type {
  ConfigureSmtpInput,
  Mailer,
  UncertainPolicy,
  UpdateSmtpInput,
} from '@postrider/client'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { useTenant } from '../session/use-tenant.ts'
import { helpBelow, Select, TextInput } from '../ui/controls.ts'
import { Dialog, DialogEnd, DialogForm } from '../ui/dialog.tsx'
import { fieldErrors } from '../ui/field-errors.ts'
import classes from '../ui/form.module.css'
import { tellDone } from '../ui/toast.ts'
import { useWords } from '../words/define-words.ts'
import { type Provider, providers } from './providers.ts'
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
} from './server-login.tsx'
import { words } from './words.ts'

const policies: readonly UncertainPolicy[] = ['at_least_once', 'at_most_once']
const paths = [...loginPaths, '/uncertain', '/return_path']

interface SmtpDraft extends LoginDraft {
  readonly uncertain: UncertainPolicy
  readonly returnPath: string
}

interface SmtpFormState extends LoginFormState {
  readonly draft: SmtpDraft
  readonly change: (part: Partial<SmtpDraft>) => void
}

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

function Form(o: FormProps) {
  const text = useWords(words)
  const { mailer, close } = o
  const isNew = mailer === undefined
  const isOAuth = mailer?.connection_type === 'oauth'
  const { draft, change, provider } = useDraft(mailer)
  const save = useSave(draft, o)
  const errors = fieldErrors(save.error, paths)
  const form = { draft, change, errors, isNew }
  const loginHelp = provider?.login && text.loginHints[provider.login]
  return (
    <DialogForm submit={() => save.mutate()}>
      {isNew && (
        <ProviderSelect
          known={providers}
          value={draft.provider}
          choose={(chosen) => change(serverOf(chosen))}
        />
      )}
      {isOAuth ? (
        <>
          <NameField form={form} isFirst />
          <p className={classes.help}>{text.oauthServer}</p>
        </>
      ) : (
        <LoginFields
          form={form}
          address={{ label: text.sendsFor, description: text.sendsForHelp }}
          username={{ description: text.usernameHelp }}
          password={{
            description: isNew ? loginHelp : text.passwordKept,
            'data-autofocus': !isNew || undefined,
          }}
        />
      )}
      {!isNew && <SendingFields form={form} />}
      {!isOAuth && <LoginChecks form={form} tryLabel={text.tryLogin} />}
      <DialogEnd
        confirm={isNew && draft.isTried ? text.addAndTest : text.save}
        isBusy={save.isPending}
        error={errors.rest}
        close={close}
      />
    </DialogForm>
  )
}

function useDraft(mailer: Mailer | undefined) {
  const [typed, setTyped] = useState({
    ...loginOf(mailer, { port: '587', secure: 'Auto' }),
    username: mailer?.config.username,
    uncertain: mailer?.uncertain ?? 'at_least_once',
    returnPath: mailer?.return_path ?? '',
  })
  const provider = providers.find(({ name }) => name === typed.provider)
  // These providers log in by the address, whether it is typed before or after the provider is chosen.
  const username = typed.username ?? (provider === undefined ? '' : typed.email.trim())
  return {
    draft: { ...typed, username },
    change: (part: Partial<SmtpDraft>) => setTyped((before) => ({ ...before, ...part })),
    provider,
  }
}

function serverOf(chosen: Provider | undefined): Partial<LoginDraft> {
  if (chosen === undefined) return { provider: '' }
  const { name, host, port, secure } = chosen
  return { provider: name, server: { host, port: String(port), secure } }
}

function useSave(draft: SmtpDraft, { mailer, ...o }: FormProps) {
  const text = useWords(words)
  const { client } = useTenant()
  const end = useEnd(o)
  return useMutation({
    async mutationFn() {
      if (mailer === undefined)
        return (await client.configureSMTP(newServerOf(draft))).mailer.mailer_id
      await client.updateSMTP(changeOf(mailer, draft))
      return mailer.mailer_id
    },
    async onSuccess(mailerId) {
      tellDone(text.saved)
      await end(mailerId)
    },
  })
}

function newServerOf(draft: SmtpDraft): ConfigureSmtpInput {
  const { name, email, username, password, isTried } = draft
  return {
    ...{ name: name.trim() || email.trim(), email: email.trim(), verify: isTried },
    ...{ config_type: 'smtp', connection_type: 'basic' },
    config: {
      ...readConfig(draft),
      ...(username !== '' && { username }),
      ...(password !== '' && { password }),
    },
  }
}

function changeOf(mailer: Mailer, draft: SmtpDraft): UpdateSmtpInput {
  const { name, email, username, password, isTried, uncertain, returnPath } = draft
  return {
    ...{ mailer_id: mailer.mailer_id, name: name.trim(), uncertain },
    return_path: returnPath.trim() || null,
    ...(mailer.connection_type !== 'oauth' && {
      ...{ email: email.trim(), verify: isTried },
      config: {
        ...readConfig(draft),
        username: username || null,
        ...(password !== '' && { password }),
      },
    }),
  }
}

/** What is done after a lost answer, and where bounces go. */
function SendingFields({ form }: { readonly form: SmtpFormState }) {
  const text = useWords(words)
  const { draft, change, errors } = form
  return (
    <>
      <Select
        {...helpBelow}
        label={text.uncertain}
        data={policies.map((value) => ({ value, label: text.uncertainWords[value] }))}
        value={draft.uncertain}
        error={errors.of('/uncertain')}
        onChange={(value) =>
          change({ uncertain: policies.find((one) => one === value) ?? 'at_least_once' })
        }
      />
      <TextInput
        {...fieldOf(form, 'returnPath', '/return_path')}
        label={text.bouncesTo}
        description={text.bouncesToHelp}
        placeholder={text.toSender}
      />
    </>
  )
}
