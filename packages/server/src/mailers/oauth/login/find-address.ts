/**
 * Whose mailbox a grant is for (docs/reference/mailers.md#oauth-apps): by the id token, else by the
 * provider's userinfo (OpenID Connect Core §5.3), else unknown.
 */
import { parseAddress } from '@postrider/mail'
import { type Egress, EgressError } from '../../../platform/egress/index.ts'
import { memberOf, parseJson } from '../../../platform/values/json.ts'
import type { OAuthApp } from '../apps/oauth-app.ts'
import type { Grant } from '../tokens/request-token.ts'
import { readIdToken } from './read-id-token.ts'

const TIMEOUT_MS = 10_000
const ANSWER_BYTES_MAX = 64 * 1024

export type FoundAddress =
  /** Undefined: the provider does not tell. */
  | { readonly ok: true; readonly email: string | undefined }
  | { readonly ok: false; readonly problem: string }

export async function findAddress(
  deps: { readonly egress: Pick<Egress, 'request'> },
  app: OAuthApp,
  grant: Grant,
  o: { readonly nonce: string | undefined; readonly now: Date },
): Promise<FoundAddress> {
  if (grant.idToken !== undefined) {
    const read = readIdToken(app, grant.idToken, o)
    if (!read.ok) return read
    if (read.email !== undefined) return checked(read.email)
  }
  if (app.userinfoUrl === undefined) return { ok: true, email: undefined }
  return askUserinfo(deps, app, app.userinfoUrl, grant)
}

/**
 * A grant without the scope for it (401, 403) tells nothing. An endpoint that cannot answer now is a
 * failure: without it another mailbox might be taken for the mailer's.
 */
async function askUserinfo(
  { egress }: { readonly egress: Pick<Egress, 'request'> },
  app: OAuthApp,
  url: string,
  grant: Grant,
): Promise<FoundAddress> {
  const problem = (what: string) => ({
    ok: false as const,
    problem: `The provider's userinfo ${what}`,
  })
  try {
    const { status, body } = await egress.request({
      poolKey: `oauth ${app.tenantId}`,
      url,
      method: 'GET',
      headers: {
        authorization: `Bearer ${grant.accessToken}`,
        accept: 'application/json',
        connection: 'close',
      },
      timeoutMs: TIMEOUT_MS,
      bodyBytesMax: ANSWER_BYTES_MAX,
      bodyKeptBytesMax: ANSWER_BYTES_MAX,
    })
    if (status === 401 || status === 403) return { ok: true, email: undefined }
    if (status !== 200) return problem(`answered with status ${status}`)
    const facts = parseJson(body)
    const email = memberOf(facts, 'email')
    if (typeof email !== 'string' || email === '') return { ok: true, email: undefined }
    if (memberOf(facts, 'email_verified') === false) return { ok: true, email: undefined }
    return checked(email)
  } catch (error) {
    if (!(error instanceof EgressError)) throw error
    return problem(`cannot be asked: ${error.message}`)
  }
}

function checked(email: string): FoundAddress {
  const parsed = parseAddress(email)
  return parsed.ok
    ? { ok: true, email: parsed.address.address }
    : { ok: false, problem: 'The provider names no valid address of the mailbox' }
}
