/** The router: the pages below `/app`, each with all that it shows in its address. */
import { createRouter } from '@tanstack/react-router'
import { queryClient } from '../api/query-client.ts'
import { sessionQuery } from '../session/session.ts'
import { routeTree } from './routes.tsx'

export const router = createRouter({
  routeTree,
  basepath: '/app',
  defaultPreload: 'intent',
  defaultPreloadStaleTime: 0,
  scrollRestoration: true,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}

/** A session that ended elsewhere leads to the login, and from there back. */
queryClient.getQueryCache().subscribe(({ type, query }) => {
  const [name] = query.queryKey
  if (type !== 'updated' || name !== sessionQuery.queryKey[0] || query.state.data !== null) return
  const { pathname, href } = router.state.location
  if (/^\/(?:login|setup|invitation)\b/.test(pathname)) return
  void router.navigate({ to: '/login', search: pathname === '/' ? {} : { to: href } })
})
