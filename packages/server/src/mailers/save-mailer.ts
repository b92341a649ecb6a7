/** A changed configuration, and what that it has logged in means for the mailer's state. */
import type { Clock } from '../platform/clock.ts'
import type { Tx } from '../platform/db/index.ts'
import { type MaySecond, takeAddress } from './address-holders.ts'
import { asServerMailer, emailKeyOf, type Mailer, type ServerMailer } from './mailer.ts'
import { changeState } from './state/change-state.ts'
import { updateMailer } from './store.ts'

export interface SaveMailerDeps {
  readonly clock: Clock
  /**
   * To be called after the commit of any change: mail that waits for the mailer may go out, as the
   * limits of its queue allow, whatever has gathered; and its mailbox is watched as it now says.
   */
  readonly wakeMail: (mailer: Pick<Mailer, 'tenantId' | 'mailerId'>) => void
}

/** Of a change that may give it another address. */
export interface AddressBefore extends MaySecond {
  readonly before: string
}

export function addressBefore(
  { email }: Pick<ServerMailer, 'email'>,
  body: { readonly allow_duplicate?: boolean | null | undefined },
): AddressBefore {
  return { before: email, isSecondAllowed: body.allow_duplicate === true }
}

/** Undefined when another update came first, or the mailer is gone. */
export async function saveMailer(
  tx: Tx,
  { clock }: Pick<SaveMailerDeps, 'clock'>,
  mailer: ServerMailer,
  o: { readonly isAuthenticated: boolean; readonly address?: AddressBefore },
): Promise<ServerMailer | undefined> {
  const { address } = o
  if (address !== undefined && emailKeyOf(mailer.email) !== emailKeyOf(address.before))
    await takeAddress(tx, mailer, address)
  const updated = await updateMailer(tx, mailer)
  if (updated === undefined || !o.isAuthenticated) return updated
  const changed = await changeState(tx, clock, updated, { kind: 'authenticated' })
  return asServerMailer(changed?.mailer)
}
