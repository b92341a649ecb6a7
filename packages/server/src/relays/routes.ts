/** The operations on accounts at relay providers (docs/reference/domains.md#relay-accounts). */

import {
  configureRelayAnswer,
  configureRelayBody,
  deleteRelayAnswer,
  getRelayAnswer,
  type Relay,
  type RelayParams,
  relayParams,
} from '@postrider/contract'
import type { FastifyInstance } from 'fastify'
import { addOperation } from '../platform/http/operation.ts'
import type { KeyRing } from '../platform/secrets/index.ts'
import { type AccountKey, openCallbackToken, type StoredAccount } from './accounts/account.ts'
import { type ConfigureRelayDeps, configureRelay } from './accounts/configure-relay.ts'
import { type DeleteRelayDeps, deleteRelay } from './accounts/delete-relay.ts'
import { getRelay } from './accounts/get-relay.ts'

export type RelayRoutesDeps = ConfigureRelayDeps & DeleteRelayDeps & RelayWireDeps

const TAG = 'Relays'

/** All need the scope `mailers`: who knows the callback URL can report in the provider's name. */
export function relayRoutes(app: FastifyInstance, deps: RelayRoutesDeps): void {
  addOperation(app, 'configureRelay', {
    summary: 'Make or change the account at a relay provider',
    description:
      'A tenant has one account of a kind at the most. Of one that is there what is left out stays as it is, and `callback_url` always does: register it at the provider for its events. With a new key its sending domains that were deactivated are active again, and what was held is sent. The key is not tried: it is heard of when a domain is added, or mail sent. `simulator` takes no field, and sends nothing: it plays a provider for tests.',
    tag: TAG,
    scopes: ['mailers'],
    params: relayParams,
    body: configureRelayBody,
    answer: configureRelayAnswer,
    errors: ['conflict', 'rate_limited'],
    async handle({ tenant, params, body }) {
      const account = await configureRelay(deps, keyOf(tenant, params), body)
      return { message: 'Relay configured', relay: toWire(deps, account) }
    },
  })
  addOperation(app, 'getRelay', {
    summary: 'Get the account at a relay provider',
    tag: TAG,
    scopes: ['mailers'],
    params: relayParams,
    answer: getRelayAnswer,
    async handle({ tenant, params }) {
      const account = await getRelay(deps, keyOf(tenant, params))
      return { message: 'Relay found', relay: toWire(deps, account) }
    },
  })
  addOperation(app, 'deleteRelay', {
    summary: 'Delete the account at a relay provider',
    description:
      'While sending domains use it, the answer is 409: delete them first. Its callback URL is unknown from then on.',
    tag: TAG,
    scopes: ['mailers'],
    params: relayParams,
    answer: deleteRelayAnswer,
    errors: ['conflict'],
    async handle({ tenant, params }) {
      await deleteRelay(deps, keyOf(tenant, params))
      return { message: 'Relay deleted' }
    },
  })
}

function keyOf(tenant: { readonly tenantId: string }, { kind }: RelayParams): AccountKey {
  return { tenantId: tenant.tenantId, kind }
}

interface RelayWireDeps {
  readonly keyRing: KeyRing
  readonly publicUrl: string
}

/**
 * An account as every answer shows it (docs/reference/domains.md#relay-accounts): without its key and
 * secrets, sealed or not.
 */
function toWire({ keyRing, publicUrl }: RelayWireDeps, account: StoredAccount): Relay {
  const { kind, apiBase } = account
  return {
    kind,
    api_base: apiBase === '' ? null : apiBase,
    callback_url: `${publicUrl}/callbacks/${kind}/${openCallbackToken(keyRing, account)}`,
    created_at: account.createdAt.toISOString(),
    updated_at: account.updatedAt.toISOString(),
  }
}
