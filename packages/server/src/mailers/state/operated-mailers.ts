/** Mailers as the operator's commands list them: state, server, the last error. Newest first. */
import type { Queryable } from '../../platform/db/index.ts'
import { serverOf } from '../limits/find-late.ts'
import { listMailers } from '../store.ts'
import { listErrors } from './error-store.ts'

export interface OperatedMailer {
  readonly tenant_id: string
  readonly mailer_id: string
  readonly name: string
  readonly email: string
  /** A mail server, or a relay provider. */
  readonly host: string
  readonly state: string
  readonly state_reason: string | null
  readonly last_error: {
    readonly at: string
    readonly failed_reason: string
    readonly provider_error: string
    readonly ref_id: string
  } | null
}

const PAGE = 500
const ULID_LENGTH = 26

export async function operatedMailers(q: Queryable, tenantId: string): Promise<OperatedMailer[]> {
  const all: OperatedMailer[] = []
  let before: string | undefined
  do {
    const page = await listMailers(q, { tenantId, state: undefined, before, limit: PAGE })
    const ids = page.map(({ mailerId }) => mailerId)
    const errors = await listErrors(q, tenantId, ids, 1)
    const errorOf = new Map(errors.map((error) => [error.mailerId, error]))
    for (const mailer of page) {
      const error = errorOf.get(mailer.mailerId)
      all.push({
        tenant_id: tenantId,
        mailer_id: mailer.mailerId,
        name: mailer.name,
        email: mailer.connectionType === 'relay' ? `@${mailer.config.domain}` : mailer.email,
        host: serverOf(mailer),
        state: mailer.state,
        state_reason: mailer.stateReason ?? null,
        last_error:
          error === undefined
            ? null
            : {
                at: error.at.toISOString(),
                failed_reason: error.failedReason,
                provider_error: error.providerError,
                ref_id: error.refId,
              },
      })
    }
    before = page.length < PAGE ? undefined : ids.at(-1)?.slice(-ULID_LENGTH)
  } while (before !== undefined)
  return all
}
