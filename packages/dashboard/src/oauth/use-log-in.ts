/** Sends the browser to the provider. It comes back to the page `connected`. */
import type { OAuthApp } from '@postrider/client'
import { useMutation } from '@tanstack/react-query'
import { useSession } from '../session/session.ts'
import { useTenant } from '../session/use-tenant.ts'
import { keepStarted, type StartedLogin } from './started-login.ts'

interface Login extends StartedLogin {
  readonly allow_duplicate?: true
}

export function useLogIn() {
  const { tenantId, client } = useTenant()
  const { user } = useSession()
  return useMutation({
    async mutationFn(login: Login) {
      const { apps } = await client.listOAuthApps()
      const back = wayBack(tenantId)
      const app = apps.find(({ app_id }) => app_id === login.app_id)
      // The service sends browsers only where the app says.
      if (app !== undefined && !app.redirect_uris.includes(back))
        await client.updateOAuthApp({
          app_id: app.app_id,
          redirect_uris: [...app.redirect_uris, back],
        })
      const { authorization_url } = await client.oauthLogin({ ...login, redirect_uri: back })
      if (authorization_url === undefined) throw new Error('There is no authorization_url')
      const { allow_duplicate: _, ...started } = login
      keepStarted({ tenantId, userId: user.user_id }, started)
      location.assign(authorization_url)
    },
  })
}

/** Where the browser comes back to: a page of this dashboard. */
export function wayBack(tenantId: string): string {
  return `${location.origin}/app/t/${tenantId}/mailers/connected`
}

/** What the app has a server for. */
export function loginTypesOf({ smtp, imap }: Pick<OAuthApp, 'smtp' | 'imap'>) {
  return [
    ...(smtp === undefined ? [] : (['smtp'] as const)),
    ...(smtp === undefined || imap === undefined ? [] : (['smtp_imap'] as const)),
    ...(imap === undefined ? [] : (['imap'] as const)),
  ]
}
