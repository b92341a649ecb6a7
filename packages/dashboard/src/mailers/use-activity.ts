import { useQuery } from '@tanstack/react-query'
import { useTenant } from '../session/use-tenant.ts'

/** What a mailer did in 24 hours, asked for again each half minute. One that only reads does nothing of it. */
export function useActivity(mailerId: string, isSending = true) {
  const { tenantId, client } = useTenant()
  return useQuery({
    queryKey: [tenantId, 'mailer', mailerId, 'activity'],
    queryFn: async ({ signal }) => (await client.getMailerActivity(mailerId, { signal })).activity,
    enabled: isSending,
    refetchInterval: 30_000,
    staleTime: 20_000,
  })
}
