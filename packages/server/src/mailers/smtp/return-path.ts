/**
 * The return path of a mailer (docs/reference/suppressions.md#return-paths): `bounces@` a verified inbound
 * domain of its tenant. A domain that the tenant loses or deletes is taken out of its mailers: their mail
 * goes on with their own addresses as envelope senders.
 */
import { addressKeyOf, parseAddress } from '@postrider/mail'
import type { Db, Tx } from '../../platform/db/index.ts'
import { validationError } from '../../platform/errors.ts'
import type { ServerMailer } from '../mailer.ts'
import { removeReturnPath } from '../store.ts'

export interface ReturnPathDeps {
  /** Whether it is an inbound domain of the tenant, and verified. In wire form. */
  readonly isInboundDomain: (o: {
    readonly tenantId: string
    readonly domain: string
  }) => Promise<boolean>
}

const LOCAL = 'bounces'

export function returnPathAt(domain: string): string {
  return `${LOCAL}@${domain}`
}

/** In wire form. Undefined for none. */
export async function checkReturnPath(
  deps: ReturnPathDeps,
  tenantId: string,
  given: string | null,
): Promise<string | undefined> {
  if (given === null) return undefined
  const parsed = parseAddress(given)
  if (!parsed.ok) throw refuse(parsed.problem)
  const { address } = parsed.address
  const at = address.lastIndexOf('@')
  if (addressKeyOf(address.slice(0, at)) !== LOCAL)
    throw refuse(`must be ${LOCAL}@ one of your inbound domains`)
  const domain = address.slice(at + 1)
  if (!(await deps.isInboundDomain({ tenantId, domain })))
    throw refuse(
      `${domain} is not a verified inbound domain of this account: configure it with configureInboundRouting, and publish its records`,
    )
  return returnPathAt(domain)
}

/**
 * After the mailer was stored: its domain may have gone meanwhile, and was taken out of the mailers that
 * there were. One that goes from now on finds this one.
 */
export async function confirmReturnPath(
  deps: ReturnPathDeps & { readonly db: Db },
  mailer: ServerMailer,
): Promise<ServerMailer> {
  const { returnPath, ...without } = mailer
  if (returnPath === undefined) return mailer
  const { tenantId } = mailer
  const domain = returnPath.slice(returnPath.lastIndexOf('@') + 1)
  if (await deps.isInboundDomain({ tenantId, domain })) return mailer
  await deps.db.transaction((tx) => forgetReturnPath(tx, { tenantId, domain }))
  return without
}

/** As the domain is deleted, or goes to another tenant. Answers the mailers that had it. */
export function forgetReturnPath(
  tx: Tx,
  { tenantId, domain }: { readonly tenantId: string; readonly domain: string },
): Promise<string[]> {
  return removeReturnPath(tx, { tenantId, returnPath: returnPathAt(domain) })
}

function refuse(message: string) {
  return validationError({ path: '/return_path', message })
}
