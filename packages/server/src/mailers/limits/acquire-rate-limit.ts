/**
 * Permission to send within a mailer's limits, over all processes: taken in the transaction of the
 * claim from a row of the mailer, which is locked until that commits, and given back in the
 * transaction in which a claim ends without having used it.
 */
import type { Tx } from '../../platform/db/index.ts'
import {
  decidePermission,
  type Permission,
  type Rates,
  type Used,
  withPermitted,
  withReturned,
} from './decide-permission.ts'
import {
  addPermission,
  keepPermission,
  lockPermission,
  type PermissionKey,
} from './permission-store.ts'

export interface LimitedMailer extends PermissionKey {
  readonly rates: Rates
}

export interface OfferedPermission extends Permission {
  /** By the database's clock. A caller that returns some of it names this time. */
  readonly atMs: number
  readonly used: Used
}

/** Nothing is used yet; undefined when the mailer is gone. */
export async function offerPermission(
  tx: Tx,
  mailer: LimitedMailer,
  wanted: number,
): Promise<OfferedPermission | undefined> {
  let locked = await lockPermission(tx, mailer)
  if (locked === undefined) {
    await addPermission(tx, mailer)
    locked = await lockPermission(tx, mailer)
  }
  if (locked === undefined) return undefined
  const { used, nowMs } = locked
  return { ...decidePermission(mailer.rates, used, { wanted, nowMs }), atMs: nowMs, used }
}

/** In the transaction of the offer. */
export async function usePermission(
  tx: Tx,
  mailer: LimitedMailer,
  { used, atMs }: OfferedPermission,
  count: number,
): Promise<void> {
  if (count > 0) await keepPermission(tx, mailer, withPermitted(mailer.rates, used, count, atMs))
}

export interface ReturnedPermission extends PermissionKey {
  readonly atMs: number
}

/** One for each entry. A mailer that has no row any more needs none. */
export async function returnPermissions(
  tx: Tx,
  returned: readonly ReturnedPermission[],
): Promise<void> {
  const byMailer = Map.groupBy(returned, (one) => `${one.tenantId} ${one.mailerId}`)
  // Always in the same order: two processes that wait for each other's rows would be a deadlock.
  for (const id of [...byMailer.keys()].sort()) {
    const ofMailer = byMailer.get(id) ?? []
    const [mailer] = ofMailer
    if (mailer === undefined) continue
    const locked = await lockPermission(tx, mailer)
    if (locked === undefined) continue
    const used = ofMailer.reduce((rest, { atMs }) => withReturned(rest, 1, atMs), locked.used)
    await keepPermission(tx, mailer, used)
  }
}
