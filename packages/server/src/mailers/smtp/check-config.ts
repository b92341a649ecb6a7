/**
 * Which fields of `config` a connection type takes (docs/reference/mailers.md#kinds). The schema knows both
 * types' fields; a refusal names the field as the schema would.
 */
import type { ConnectionType, FieldError, SmtpConfig, SmtpConfigChange } from '@postrider/contract'

const BASIC_ONLY = ['username', 'password'] as const
const OAUTH_ONLY = ['app_id', 'refresh_token'] as const

/** Of a new mailer. */
export function checkConfig(type: ConnectionType, config: SmtpConfig): FieldError[] {
  const required =
    type === 'basic'
      ? (['host', 'port', 'secure'] as const)
      : (['app_id', 'refresh_token'] as const)
  const missing = required.filter((name) => config[name] === undefined)
  return [
    ...missing.map((name) => ({ path: `/config/${name}`, message: 'is required' })),
    ...checkConfigChange(type, config),
    ...(type === 'basic' ? checkCredentials(config) : []),
  ]
}

/** Of an update: nothing is required. */
export function checkConfigChange(type: ConnectionType, config: SmtpConfigChange): FieldError[] {
  const [strange, other] =
    type === 'basic' ? ([OAUTH_ONLY, 'oauth'] as const) : ([BASIC_ONLY, 'basic'] as const)
  const errors = strange
    .filter((name) => config[name] != null)
    .map((name) => ({ path: `/config/${name}`, message: `is for connection_type ${other}` }))
  const { refresh_token: token } = config
  if (token === undefined || /^[\x21-\x7e]+$/.test(token)) return errors
  return [...errors, { path: '/config/refresh_token', message: 'must be visible ASCII characters' }]
}

/** A username without a password cannot log in; a password without a username is a mistake. */
function checkCredentials({ username, password }: SmtpConfig): FieldError[] {
  if ((username === undefined) === (password === undefined)) return []
  const missing = username === undefined ? 'username' : 'password'
  return [
    {
      path: `/config/${missing}`,
      message: 'username and password are given together or not at all',
    },
  ]
}
