/** The webhooks of the tenant, for their names: where their requests go. */
import { useQuery } from '@tanstack/react-query'
import { useTenant } from '../session/use-tenant.ts'

export function useWebhooks(): { readonly nameOf: (webhookId: string) => string } {
  const { client, tenantId } = useTenant()
  const { data } = useQuery({
    queryKey: [tenantId, 'webhooks', 'names'],
    staleTime: 60_000,
    queryFn: async ({ signal }) => (await client.listWebhooks({ signal })).webhooks,
  })
  return {
    nameOf(webhookId) {
      return hostOf(data?.find(({ webhook_id: id }) => id === webhookId)?.url) ?? webhookId
    },
  }
}

/** Of a webhook that was deleted there is no URL. */
export function hostOf(url: string | null | undefined): string | undefined {
  return typeof url === 'string' && URL.canParse(url) ? new URL(url).host : undefined
}
