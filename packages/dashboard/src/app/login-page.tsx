/** Logging in with a password or by the organisation's provider. */
import { PostriderError } from '@postrider/client'
import { useMutation } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { queryClient } from '../api/query-client.ts'
import { clientOf } from '../session/client.ts'
import { sessionQuery } from '../session/session.ts'
import { Failure } from '../ui/answers.tsx'
import { Button, PasswordInput } from '../ui/controls.ts'
import { RequiredInput } from '../ui/required-input.tsx'
import { useWords } from '../words/define-words.ts'
import { loginWays } from './login-ways.ts'
import { PublicPage } from './public-page.tsx'
import { words } from './words.ts'

export function LoginPage() {
  const text = useWords(words)
  const { to } = useSearch({ from: '/login' })
  const navigate = useNavigate()
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const login = useMutation({
    mutationFn: () => clientOf().createSession({ email, password }, { maxRetries: 0 }),
    async onSuccess() {
      queryClient.clear()
      await queryClient.fetchQuery(sessionQuery)
      await navigate({ to: to ?? '/' })
    },
  })
  return (
    <PublicPage title={text.logIn} lead={text.logInLead}>
      {loginWays.byOidc && (
        <Button component="a" href="/ui/oidc/login" variant="default">
          {text.logInByOidc}
        </Button>
      )}
      {loginWays.byPassword && (
        <form
          onSubmit={(event) => {
            event.preventDefault()
            login.mutate()
          }}
        >
          <RequiredInput
            label={text.email}
            type="email"
            autoComplete="username"
            autoFocus
            value={email}
            set={setEmail}
          />
          <PasswordInput
            label={text.password}
            autoComplete="current-password"
            required
            withAsterisk={false}
            value={password}
            onChange={(event) => setPassword(event.currentTarget.value)}
          />
          {login.error && <LoginFailure error={login.error} />}
          <Button type="submit" loading={login.isPending}>
            {text.logIn}
          </Button>
        </form>
      )}
    </PublicPage>
  )
}

function LoginFailure({ error }: { readonly error: unknown }) {
  const text = useWords(words)
  if (error instanceof PostriderError && error.status === 401)
    return <p role="alert">{text.wrongLogin}</p>
  if (error instanceof PostriderError && error.status === 429)
    return <p role="alert">{text.tooManyLogins(Math.ceil(error.retryAfter ?? 60))}</p>
  return <Failure what="logIn" error={error} />
}
