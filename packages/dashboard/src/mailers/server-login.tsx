/** What the forms of SMTP servers and of mailboxes read by IMAP share: a server, and the login at it. */
import type { Mailer } from '@postrider/client'
import { useNavigate } from '@tanstack/react-router'
import { queryClient } from '../api/query-client.ts'
import { useTenant } from '../session/use-tenant.ts'
import { Checkbox, helpBelow, PasswordInput, Select, TextInput } from '../ui/controls.ts'
import type { FieldErrors } from '../ui/field-errors.ts'
import classes from '../ui/form.module.css'
import { useWords } from '../words/define-words.ts'
import type { Provider } from './providers.ts'
import { readServer, type ServerDraft, ServerFields, serverPaths } from './server-fields.tsx'
import { words } from './words.ts'

/** As it is typed. */
export interface LoginDraft {
  /** Empty: none of the well-known ones. */
  readonly provider: string
  readonly name: string
  readonly email: string
  readonly server: ServerDraft
  readonly isVerified: boolean
  readonly username: string
  /** Empty: the one that is stored. */
  readonly password: string
  readonly isTried: boolean
}

/** What each part of a form needs. */
export interface LoginFormState {
  readonly draft: LoginDraft
  readonly change: (part: Partial<LoginDraft>) => void
  readonly errors: FieldErrors
  readonly isNew: boolean
}

/** For `fieldErrors`. */
export const loginPaths: readonly string[] = [
  ...['/name', '/email', '/config/username', '/config/password'],
  ...serverPaths('/config'),
]

/** `usual`: of a server that is not known yet. */
export function loginOf(mailer: Mailer | undefined, usual: Omit<ServerDraft, 'host'>): LoginDraft {
  return {
    ...{ provider: '', name: mailer?.name ?? '', email: mailer?.email ?? '' },
    server: {
      host: mailer?.config.host ?? '',
      port: String(mailer?.config.port ?? usual.port),
      secure: mailer?.config.secure ?? usual.secure,
    },
    isVerified: mailer?.config.tls_verify ?? true,
    username: mailer?.config.username ?? '',
    ...{ password: '', isTried: true },
  }
}

export function readConfig({ server, isVerified }: LoginDraft) {
  return { ...readServer(server), tls_verify: isVerified }
}

/** A form whose draft has texts by these names. */
interface TextForm<Name extends string> {
  readonly draft: { readonly [K in Name]: string }
  readonly change: (part: { readonly [K in Name]?: string }) => void
  readonly errors: FieldErrors
}

/** What a field needs to change a text of the draft. `path`: of the text in the request. */
export function fieldOf<Name extends string>(
  { draft, change, errors }: TextForm<NoInfer<Name>>,
  name: Name,
  path: string,
) {
  return {
    ...helpBelow,
    withAsterisk: false,
    value: draft[name],
    error: errors.of(path),
    onChange(event: { readonly currentTarget: { readonly value: string } }): void {
      const part: { [K in Name]?: string } = {}
      part[name] = event.currentTarget.value
      change(part)
    },
  }
}

/** Closes the form, and shows the mailer unless the page stays. */
export function useEnd({
  close,
  isStaying = false,
}: {
  readonly close: () => void
  readonly isStaying?: boolean
}): (mailerId: string) => Promise<void> {
  const { tenantId } = useTenant()
  const navigate = useNavigate()
  return async (mailerId) => {
    close()
    await queryClient.invalidateQueries({ queryKey: [tenantId] })
    if (isStaying) return
    await navigate({ to: '/t/$tenantId/mailers/$mailerId', params: { tenantId, mailerId } })
  }
}

export function ProviderSelect({
  known,
  value,
  choose,
}: {
  readonly known: readonly Provider[]
  readonly value: string
  /** Undefined: another one. */
  readonly choose: (provider: Provider | undefined) => void
}) {
  const text = useWords(words)
  return (
    <Select
      label={text.provider}
      placeholder={text.otherProvider}
      data={known.map(({ name }) => name)}
      value={value === '' ? null : value}
      onChange={(chosen) => choose(known.find(({ name }) => name === chosen))}
      clearable
      searchable
    />
  )
}

export function NameField({
  form,
  isFirst,
}: {
  readonly form: LoginFormState
  /** The cursor begins there. */
  readonly isFirst?: boolean
}) {
  const text = useWords(words)
  return (
    <TextInput
      {...fieldOf(form, 'name', '/name')}
      label={text.yourName}
      placeholder={form.draft.email}
      required={!form.isNew}
      data-autofocus={isFirst || undefined}
    />
  )
}

interface Help {
  readonly description?: string | undefined
}

/** The address, the server, and what it is logged in with. The kinds of mailers differ in what they say of it. */
export function LoginFields({
  form,
  address,
  username,
  password,
}: {
  readonly form: LoginFormState
  readonly address: Help & { readonly label: string }
  readonly username: Help
  readonly password: Help & {
    readonly required?: boolean
    readonly 'data-autofocus'?: true | undefined
  }
}) {
  const text = useWords(words)
  const { draft, change, errors, isNew } = form
  return (
    <>
      <div className={classes.pair}>
        <TextInput
          {...fieldOf(form, 'email', '/email')}
          {...address}
          type="email"
          required
          data-autofocus={isNew || undefined}
        />
        <NameField form={form} />
      </div>
      <ServerFields
        value={draft.server}
        onChange={(server) => change({ server })}
        errors={errors}
        path="/config"
      />
      <div className={classes.pair}>
        <TextInput
          {...fieldOf(form, 'username', '/config/username')}
          {...username}
          label={text.username}
          autoComplete="off"
        />
        <PasswordInput
          {...fieldOf(form, 'password', '/config/password')}
          {...password}
          label={text.password}
          autoComplete="new-password"
        />
      </div>
    </>
  )
}

/** `hasServer`: the form asks for the server, and so for its certificate. */
export function LoginChecks({
  form: { draft, change },
  tryLabel,
  hasServer = true,
}: {
  readonly form: LoginFormState
  readonly tryLabel: string
  readonly hasServer?: boolean
}) {
  const text = useWords(words)
  return (
    <div className={classes.group}>
      {hasServer && (
        <Checkbox
          label={text.verifyCertificate}
          checked={draft.isVerified}
          onChange={(event) => change({ isVerified: event.currentTarget.checked })}
        />
      )}
      <Checkbox
        label={tryLabel}
        checked={draft.isTried}
        onChange={(event) => change({ isTried: event.currentTarget.checked })}
      />
    </div>
  )
}
