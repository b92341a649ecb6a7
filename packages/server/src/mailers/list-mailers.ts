/** listMailers (docs/reference/http.md#lists): newest first, each with its last errors. */
import type { ListMailersAnswer, ListMailersQuery } from '@postrider/contract'
import { cutPage, readPage } from '../platform/http/paging.ts'
import { type ShowDeps, showMailboxes } from './imap/show-mailboxes.ts'
import { domainToWire, toWire } from './mailer-wire.ts'
import { type ListedError, listErrors } from './state/error-store.ts'
import * as store from './store.ts'

/** What the ids of all kinds of mailers end in. */
const ULID_LENGTH = 26
const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/
const ERRORS_OF_EACH = 5

export async function listMailers(
  deps: ShowDeps,
  tenantId: string,
  query: ListMailersQuery,
): Promise<Pick<ListMailersAnswer, 'mailers' | 'nextPageToken'>> {
  const { db } = deps
  const page = readPage(query, 'mailers', ULID)
  const found = await store.listMailers(db, {
    tenantId,
    state: query.state,
    before: page.before,
    limit: page.limit + 1,
  })
  const { rows, ...token } = cutPage(found, page, ({ mailerId }) => mailerId.slice(-ULID_LENGTH))
  const ids = rows.map(({ mailerId }) => mailerId)
  const [errors, mailboxes] = await Promise.all([
    listErrors(db, tenantId, ids, ERRORS_OF_EACH),
    showMailboxes(deps, tenantId, rows),
  ])
  const errorsOf = Map.groupBy(errors, ({ mailerId }) => mailerId)
  const mailers = rows.map((mailer) => ({
    ...(mailer.connectionType === 'relay'
      ? domainToWire(mailer)
      : toWire(mailer, mailboxes.get(mailer.mailerId))),
    last_errors: (errorsOf.get(mailer.mailerId) ?? []).map(toWireError),
  }))
  return { mailers, ...token }
}

function toWireError({ at, failedReason, providerError, refId }: ListedError) {
  return {
    at: at.toISOString(),
    failed_reason: failedReason,
    provider_error: providerError,
    ref_id: refId,
  }
}
