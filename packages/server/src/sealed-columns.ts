/**
 * Every column that holds sealed values, in one list for the start, `postrider doctor` and `postrider
 * secrets rotate`. Like compose.ts it knows all capabilities. A value that is not in it would be lost
 * with its key.
 */
import { urlPlaceOf } from './alerts/index.ts'
import { dkimPlaceOf } from './domains/index.ts'
import {
  clientSecretPlaceOf,
  loginPlaceOf,
  passwordPlaceOf,
  tokenPlaceOf,
} from './mailers/index.ts'
import {
  derivedKeys,
  type SealedColumn,
  type SealedRow,
  sealedText,
} from './platform/secrets/index.ts'
import { accountPlaceOf } from './relays/index.ts'
import { headersPlaceOf, signingPlaceOf } from './webhooks/index.ts'

/** What is made of a key and has to outlast it, too. */
export { trackingKeys } from './tracking/index.ts'

const mailerOf = (row: SealedRow) => ({
  tenantId: String(row.tenant_id),
  mailerId: String(row.mailer_id),
})

const token = (name: 'refresh_token' | 'access_token', kind: string) =>
  sealedText({
    kind,
    table: 'mailers_oauth_token',
    column: name,
    keys: ['tenant_id', 'mailer_id'],
    placeOf: (row) => tokenPlaceOf(mailerOf(row), name),
  })

const account = (name: 'api_key' | 'callback_token' | 'callback_secret', kind: string) =>
  sealedText({
    kind,
    table: 'relays_account',
    column: name,
    keys: ['tenant_id', 'kind'],
    placeOf: (row) =>
      accountPlaceOf({ tenantId: String(row.tenant_id), kind: String(row.kind) }, name),
  })

/** JSON with the private key of each DKIM key that is in use. */
const dkimKeys: SealedColumn = {
  kind: 'DKIM keys',
  table: 'domains_domain',
  column: 'dkim_keys',
  keys: ['tenant_id', 'mailer_id'],
  sealedBy: 'domains_sealed_by(dkim_keys)',
  isJson: true,
  rewrite(row, text, replace) {
    const { tenantId, mailerId } = mailerOf(row)
    const keys = JSON.parse(text) as readonly { selector: string; privateKey?: string }[]
    return JSON.stringify(
      keys.map((key) =>
        key.privateKey === undefined
          ? key
          : {
              ...key,
              privateKey: replace(
                key.privateKey,
                dkimPlaceOf({ tenantId, mailerId }, key.selector),
              ),
            },
      ),
    )
  },
}

export const sealedColumns: readonly SealedColumn[] = [
  sealedText({
    kind: 'mailer passwords',
    table: 'mailers_mailer',
    column: 'secret',
    keys: ['tenant_id', 'mailer_id'],
    placeOf: (row) => passwordPlaceOf(mailerOf(row)),
  }),
  token('refresh_token', 'OAuth refresh tokens'),
  token('access_token', 'OAuth access tokens'),
  sealedText({
    kind: 'OAuth app secrets',
    table: 'mailers_oauth_app',
    column: 'client_secret',
    keys: ['tenant_id', 'app_id'],
    placeOf: (row) =>
      clientSecretPlaceOf({ tenantId: String(row.tenant_id), appId: String(row.app_id) }),
  }),
  sealedText({
    kind: 'OAuth logins under way',
    table: 'mailers_oauth_login',
    column: 'secret',
    keys: ['state_hash', 'tenant_id'],
    placeOf: (row) => loginPlaceOf(String(row.tenant_id), row.state_hash as Buffer),
  }),
  account('api_key', 'relay API keys'),
  account('callback_token', 'relay callback tokens'),
  account('callback_secret', 'relay callback secrets'),
  dkimKeys,
  sealedText({
    kind: 'webhook headers',
    table: 'webhooks_subscription',
    column: 'headers_sealed',
    keys: ['tenant_id', 'webhook_id'],
    placeOf: (row) =>
      headersPlaceOf({ tenantId: String(row.tenant_id), webhookId: String(row.webhook_id) }),
  }),
  sealedText({
    kind: 'webhook signing secrets',
    table: 'webhooks_subscription',
    column: 'signing_sealed',
    keys: ['tenant_id', 'webhook_id'],
    placeOf: (row) =>
      signingPlaceOf({ tenantId: String(row.tenant_id), webhookId: String(row.webhook_id) }),
  }),
  sealedText({
    kind: 'URLs of alerts',
    table: 'alerts_receiver',
    column: 'url_sealed',
    keys: ['tenant_id'],
    placeOf: (row) => urlPlaceOf(String(row.tenant_id)),
  }),
  derivedKeys,
]
