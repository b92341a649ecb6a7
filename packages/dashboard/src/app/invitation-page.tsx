/** The pages of links: an invitation sets a password, a set-up link makes the first user. */
import { PostriderError } from '@postrider/client'
import { useMutation } from '@tanstack/react-query'
import { Link, useRouter } from '@tanstack/react-router'
import { useState } from 'react'
import { queryClient } from '../api/query-client.ts'
import { actFor } from '../session/acting.ts'
import { clientOf } from '../session/client.ts'
import { onlyTenant } from '../session/only-tenant.ts'
import { Failure } from '../ui/answers.tsx'
import { Button, PasswordInput } from '../ui/controls.ts'
import { CodeBlock } from '../ui/copy.tsx'
import { RequiredInput } from '../ui/required-input.tsx'
import { useWords } from '../words/define-words.ts'
import { PublicPage } from './public-page.tsx'
import { words } from './words.ts'

export function InvitationPage() {
  const text = useWords(words)
  return (
    <LinkPage
      isSetup={false}
      title={text.acceptInvitation}
      lead={text.acceptInvitationLead}
      command="postrider user invite EMAIL --role ROLE"
    />
  )
}

export function SetupPage() {
  const text = useWords(words)
  return (
    <LinkPage isSetup title={text.setUp} lead={text.setUpLead} command="postrider user invite" />
  )
}

function LinkPage(o: {
  readonly isSetup: boolean
  readonly title: string
  readonly lead: string
  /** By which the operator makes another link. */
  readonly command: string
}) {
  const text = useWords(words)
  const [token] = useState(() => location.hash.slice(1))
  const [email, setEmail] = useState('')
  const [name, setName] = useState('')
  const [password, setPassword] = useState('')
  const client = clientOf()
  const router = useRouter()
  const accept = useMutation({
    async mutationFn() {
      const { user } = await client.acceptInvitation({
        token,
        password,
        ...(o.isSetup && { email, name }),
      })
      await client.createSession({ email: user.email, password })
      if (o.isSetup) actFor((await onlyTenant(client))?.tenant_id)
    },
    async onSuccess() {
      queryClient.clear()
      await router.navigate({ to: '/', replace: true })
    },
  })
  const isBadLink =
    token === '' || (accept.error instanceof PostriderError && accept.error.status === 404)
  if (isBadLink) {
    return (
      <PublicPage title={text.badLink} lead={token === '' ? text.noToken : text.badLinkHelp}>
        <CodeBlock code={o.command} />
        <Link to="/login">{text.logIn}</Link>
      </PublicPage>
    )
  }
  return (
    <PublicPage title={o.title} lead={o.lead}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          accept.mutate()
        }}
      >
        {o.isSetup && (
          <>
            <RequiredInput
              label={text.name}
              autoComplete="name"
              autoFocus
              value={name}
              set={setName}
            />
            <RequiredInput
              label={text.email}
              type="email"
              autoComplete="username"
              value={email}
              set={setEmail}
            />
          </>
        )}
        <PasswordInput
          label={text.newPassword}
          description={text.passwordHelp}
          autoComplete="new-password"
          minLength={12}
          required
          withAsterisk={false}
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
        {accept.error && <Failure what="save" error={accept.error} />}
        <Button type="submit" loading={accept.isPending}>
          {text.choosePassword}
        </Button>
      </form>
    </PublicPage>
  )
}
