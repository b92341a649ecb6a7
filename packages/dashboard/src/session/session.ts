/** Who is logged in: asked once, kept until a call says that the session has ended. */
import { type GetSessionAnswer, PostriderError } from '@postrider/client'
import { queryOptions, useSuspenseQuery } from '@tanstack/react-query'
import { useRef } from 'react'
import { clientOf } from './client.ts'

export type Session = Omit<GetSessionAnswer, 'success'>

/** `null`: nobody is logged in. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  staleTime: 60_000,
  async queryFn({ signal }): Promise<Session | null> {
    try {
      return await clientOf().getSession({ signal })
    } catch (error) {
      if (isLoggedOut(error)) return null
      throw error
    }
  },
})

export function isLoggedOut(error: unknown): boolean {
  return error instanceof PostriderError && error.status === 401
}

/** Only below the routes that need a session. */
export function useSession(): Session {
  const { data } = useSuspenseQuery(sessionQuery)
  // When the session ends, the page stays as it was until the router leads to the login.
  const last = useRef(data)
  if (data !== null) last.current = data
  if (last.current === null) throw new Error('Nobody is logged in')
  return last.current
}

export function isOperator({ role }: Pick<Session, 'role'>): boolean {
  return role === 'operator' || role === 'operator_viewer'
}
