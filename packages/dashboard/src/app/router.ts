/** The router: the pages below `/app`, each with all that it shows in its address. */
import { createRouter } from '@tanstack/react-router'
import { queryClient } from '../api/query-client.ts'
import { actFor } from '../session/acting.ts'
import { onToldByAnotherTab, tellOtherTabs } from '../session/other-tabs.ts'
import { type Session, sessionQuery } from '../session/session.ts'
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

/** Whose pages these are. */
let userId: string | undefined

/**
 * A session that ended elsewhere leads to the login, and from there back. When another person has logged in
 * meanwhile, the document begins anew, so that nothing of the one before is left in it.
 */
queryClient.getQueryCache().subscribe(({ type, query }) => {
  const [name] = query.queryKey
  if (type !== 'updated' || name !== sessionQuery.queryKey[0]) return
  const session: Session | null | undefined = query.state.data
  if (session === undefined) return
  const { pathname, href } = router.state.location
  const isPublic = /^\/(?:login|setup|invitation)\b/.test(pathname)
  if (session === null) {
    if (isPublic) return
    void router.navigate({ to: '/login', search: pathname === '/' ? {} : { to: href } })
    return
  }
  const before = userId
  userId = session.user.user_id
  if (before === userId) return
  tellOtherTabs()
  if (before === undefined) return
  // The public pages forget the answers by themselves.
  if (isPublic) actFor(undefined)
  else location.reload()
})

onToldByAnotherTab(
  () => void queryClient.invalidateQueries({ queryKey: sessionQuery.queryKey, exact: true }),
)
