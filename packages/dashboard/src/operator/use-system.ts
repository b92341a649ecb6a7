/** What the service runs as. */
import { useQuery } from '@tanstack/react-query'
import { clientOf } from '../session/client.ts'

const refreshMs = 15_000

export function useSystem() {
  return useQuery({
    queryKey: ['operator', 'system'],
    queryFn: ({ signal }) => clientOf().getSystem({ signal }),
    refetchInterval: refreshMs,
  })
}
