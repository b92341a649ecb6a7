/**
 * What goes wrong, and who is told of it (docs/reference/alerts.md). A condition is seen or not; an episode is
 * from the first look that sees it to the one by which it is over.
 */
import type { AlertKind } from '@postrider/contract'
import { noTenant } from '../tenants/index.ts'

/** In place of a tenant. */
export const operator = noTenant

export interface ConditionKey {
  /** Whose it is. `operator`: the service's own. */
  readonly tenantId: string
  readonly kind: AlertKind
  /** An id, a domain, or the name of a quota. */
  readonly subject: string
}

export interface Condition extends ConditionKey {
  readonly details: Readonly<Record<string, unknown>>
}

/** What a look saw of one kind. */
export interface Sight {
  readonly kind: AlertKind
  /** All that are open and go on are among them (`platform/limits/case-limits.ts`). */
  readonly conditions: readonly Condition[]
}

export interface Episode extends Condition {
  readonly since: Date
  /** Since when it is not seen any more. */
  readonly goneAt: Date | undefined
  readonly toldTenant: boolean
  readonly toldOperator: boolean
}

/** Of each receiver, by its tenant: which kinds it wants. */
export type Wanted = ReadonlyMap<string, ReadonlySet<AlertKind>>

export function keyOf({ tenantId, kind, subject }: ConditionKey): string {
  return JSON.stringify([tenantId, kind, subject])
}
