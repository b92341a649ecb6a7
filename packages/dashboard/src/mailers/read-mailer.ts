/** One mailer of any kind: the service reads each kind by an operation of its own. */
import type { DomainMailer, Mailer, Postrider } from '@postrider/client'

/** Rejects with the service's 404 where there is none. */
export async function readMailer(
  client: Postrider,
  mailerId: string,
  options: { readonly signal: AbortSignal },
): Promise<Mailer | DomainMailer> {
  if (mailerId.startsWith('imap_')) return (await client.getIMAPConfig(mailerId, options)).mailer
  if (mailerId.startsWith('smtp_')) return (await client.getSMTPConfig(mailerId, options)).mailer
  for await (const mailer of client.listMailers({}, options))
    if (mailer.mailer_id === mailerId) return mailer
  return (await client.getSMTPConfig(mailerId, options)).mailer
}
