/**
 * What a refusal of a token endpoint means (RFC 6749 §5.2; docs/reference/mailers.md#deactivation), as data.
 *
 * - `revoked`: this mailbox's refresh token gives nothing any more; its owner has to log in again.
 * - `app`: the app's registration or its secret is at fault, or what it asks for. Every mailbox of
 *   the app meets the same, so none of them is to blame.
 * - `transient`: the provider cannot say now.
 *
 * Decided by the HTTP status and by `error`. Microsoft puts nearly everything under `invalid_grant`
 * and `invalid_client`, so its numbers in `error_codes` come first; `error_description` is for
 * people, changes without notice, and is never read. What is not known is not held against the
 * mailbox.
 */
import type { OAuthProvider } from '@postrider/contract'

export type TokenVerdict = 'revoked' | 'app' | 'transient'

export interface TokenRefusal {
  readonly provider: OAuthProvider
  readonly status: number
  /** Of the body, as JSON; undefined when it is none. */
  readonly body: unknown
}

export const MICROSOFT_CODES: Readonly<Record<TokenVerdict, ReadonlySet<number>>> = {
  revoked: new Set([
    // expired, unused for too long, withdrawn, for a password that was changed
    70000, 70008, 700082, 700084, 70043, 50173, 50089, 50132, 50133,
    // the account: disabled, unknown, password expired
    50057, 50034, 50055, 50144,
    // consent, a second factor, a managed device, an assignment: only the user or an administrator
    // can give it, and no refresh succeeds until then
    65001, 65004, 50076, 50079, 50074, 50078, 50072, 53000, 53001, 53003, 530035, 50105, 700020,
    9002341,
  ]), // biome-ignore format: a table
  app: new Set([
    // the secret: wrong, expired; the app: unknown, disabled, of one directory only
    7000215, 7000222, 700016, 7000112, 700011, 50194,
    // scopes that do not go together, or do not exist
    70011, 28002, 28003,
  ]), // biome-ignore format: a table
  transient: new Set([
    90033, 90006, 90024, 90012, 90055, 50196, 50087, 50088, 70012, 40010, 80002,
  ]), // biome-ignore format: a table
}

export const ERRORS: Readonly<Record<string, TokenVerdict>> = {
  invalid_grant: 'revoked',
  // OpenID Connect Core §3.1.2.6: the user has to do something
  interaction_required: 'revoked',
  login_required: 'revoked',
  consent_required: 'revoked',
  account_selection_required: 'revoked',
  temporarily_unavailable: 'transient',
  server_error: 'transient',
  slow_down: 'transient',
  rate_limit_exceeded: 'transient',
  internal_failure: 'transient',
  invalid_client: 'app',
  unauthorized_client: 'app',
  invalid_scope: 'app',
  invalid_request: 'app',
  unsupported_grant_type: 'app',
  // Google's
  deleted_client: 'app',
  disabled_client: 'app',
  admin_policy_enforced: 'app',
  org_internal: 'app',
}

export function verdictOf({ provider, status, body }: TokenRefusal): TokenVerdict {
  if (status >= 500 || status === 429 || status === 408) return 'transient'
  if (typeof body !== 'object' || body === null) return 'transient'
  const codes: unknown = Reflect.get(body, 'error_codes')
  const byCode = provider === 'microsoft' && Array.isArray(codes) ? byCodes(codes) : undefined
  const error: unknown = Reflect.get(body, 'error')
  if (byCode !== undefined) return byCode
  return typeof error === 'string' && Object.hasOwn(ERRORS, error)
    ? (ERRORS[error] ?? 'app')
    : 'app'
}

/** One that passes, or is everybody's, outweighs one that would end the mailbox. */
function byCodes(codes: readonly unknown[]): TokenVerdict | undefined {
  const has = (verdict: TokenVerdict) =>
    codes.some((code) => typeof code === 'number' && MICROSOFT_CODES[verdict].has(code))
  return (['transient', 'app', 'revoked'] as const).find(has)
}
