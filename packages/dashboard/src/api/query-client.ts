/** How answers are kept: shown at once, asked for again when a page is opened or looked at again. */
import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { isLoggedOut, sessionQuery } from '../session/session.ts'

export const queryClient: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: noteLogOut }),
  mutationCache: new MutationCache({ onError: noteLogOut }),
  // The client of the service repeats what is safe to repeat.
  defaultOptions: {
    queries: { retry: false, staleTime: 5_000, gcTime: 300_000 },
    mutations: { retry: false },
  },
})

/** The session has ended elsewhere: the routes lead to the login, and back. */
function noteLogOut(error: unknown): void {
  if (isLoggedOut(error)) queryClient.setQueryData(sessionQuery.queryKey, null)
}
