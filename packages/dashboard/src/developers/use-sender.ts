/** An address that the tenant sends from, for lines to be copied. */
import { useQuery } from '@tanstack/react-query'
import { useTenant } from '../session/use-tenant.ts'

/** Of the first active mailer. */
export function useSender(): string {
  const { tenantId, client } = useTenant()
  const { data } = useQuery({
    queryKey: [tenantId, 'first-mailer'],
    queryFn: async ({ signal }) => {
      const { mailers } = await client.listMailers({ state: 'active', pageSize: 1 }, { signal })
      const [first] = mailers
      if (first === undefined) return null
      return first.config_type === 'domain' ? `you@${first.config.domain}` : first.email
    },
  })
  return data ?? 'me@example.com'
}
