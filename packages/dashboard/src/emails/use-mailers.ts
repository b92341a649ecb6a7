/** The mailers of the tenant, for names and choices. */
import type { ListMailersAnswer } from '@postrider/client'
import { useQuery } from '@tanstack/react-query'
import { useTenant } from '../session/use-tenant.ts'
import { findMailer } from './real-mailer.ts'

export type Mailer = ListMailersAnswer['mailers'][number]

/** Of more, the others are told by their ids. */
const namedMax = 1_000

export interface Mailers {
  /** Undefined: not known yet. */
  readonly all: readonly Mailer[] | undefined
  /** Those that mail can be given to. */
  readonly sending: readonly Mailer[]
  readonly nameOf: (mailerId: string) => string
  /** Where its page is: test mail names its mailer by another id. */
  readonly idOf: (mailerId: string) => string
}

export function useMailers(): Mailers {
  const { client, tenantId } = useTenant()
  const { data } = useQuery({
    queryKey: [tenantId, 'mailers', 'names'],
    staleTime: 60_000,
    async queryFn({ signal }) {
      const found: Mailer[] = []
      for await (const mailer of client.listMailers({ pageSize: 100 }, { signal })) {
        found.push(mailer)
        if (found.length >= namedMax) break
      }
      return found
    },
  })
  return {
    all: data,
    sending: data?.filter(isSending) ?? [],
    nameOf: (mailerId) => findMailer(data, mailerId)?.name ?? mailerId,
    idOf: (mailerId) => findMailer(data, mailerId)?.mailer_id ?? mailerId,
  }
}

function isSending(mailer: Mailer): boolean {
  if (mailer.state !== 'active' || mailer.config_type === 'imap') return false
  return mailer.config_type !== 'domain' || mailer.config.verified
}

/** Whom its mail is from. Any address of a domain does. */
export function senderOf(mailer: Mailer): string {
  return mailer.config_type === 'domain' ? `postrider@${mailer.config.domain}` : mailer.email
}
