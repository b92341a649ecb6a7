/** How people log in here, as the service serves the page. */
import { queryOptions } from '@tanstack/react-query'

export interface LoginWays {
  readonly password: boolean
  readonly oidc: boolean
}

export const loginWays = queryOptions({
  queryKey: ['login-ways'],
  staleTime: Number.POSITIVE_INFINITY,
  queryFn: (): LoginWays => {
    const content = document.querySelector<HTMLMetaElement>('meta[name="login-ways"]')?.content
    const ways = content?.split(' ') ?? []
    return {
      password: !ways.includes('oidc-only'),
      oidc: ways.some((way) => way.startsWith('oidc')),
    }
  },
})
