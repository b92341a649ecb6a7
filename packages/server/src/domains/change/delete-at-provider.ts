/**
 * Takes a domain off its provider once its tenant has deleted it: tried again until the provider has
 * done it, or has none, for three days at most. What is left there then sends nothing for anybody.
 */
import type { Logger } from '../../platform/log.ts'
import { type CreateDeps, waitAfter } from '../add/create-at-provider.ts'
import { callProvider } from '../call-provider.ts'
import { endDomain, putOff, type Turn } from '../stage-store.ts'

export interface DeleteDeps extends CreateDeps {
  readonly log: Logger
}

/** With waits of an hour most of the time. */
const TRIES_MAX = 75

/** False: it is tried again. */
export async function deleteAtProvider(deps: DeleteDeps, turn: Turn): Promise<boolean> {
  const { domain } = turn
  const said = await callProvider(deps, domain, 'delete')
  const isGone =
    said.kind === 'done' ||
    said.kind === 'absent' ||
    (said.kind === 'refused' && said.code === 'no_relay')
  const isGivenUp = domain.tries >= TRIES_MAX
  if (isGone || isGivenUp) {
    if (!isGone) {
      const { tenantId, domain: name, relay } = domain
      const words = 'message' in said ? said.message : said.kind
      deps.log.warn({ tenant_id: tenantId, domain: name, relay, words }, 'domain.left_at_provider')
    }
    await endDomain(deps.db, turn)
    return true
  }
  const words = 'message' in said ? said.message : said.detail
  await putOff(deps.db, turn, words, waitAfter(domain.tries))
  return false
}
