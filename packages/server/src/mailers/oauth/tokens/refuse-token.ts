/**
 * What a caller is told when a token endpoint did not give a token (docs/reference/mailers.md#login-check).
 * The address of the endpoint may be the tenant's choice: what is no answer of one is told in one sentence.
 */
import { ApiError } from '../../../platform/errors.ts'
import { printable } from '../../smtp/login-failure.ts'
import type { TokenFailure } from './request-token.ts'

export function refusalOfToken({ verdict, providerError, isAnswered }: TokenFailure): ApiError {
  const said = isAnswered ? `: ${printable(providerError)}` : ''
  return verdict === 'transient'
    ? new ApiError('mailer_unreachable', {
        message: `The OAuth provider gave no access token at the moment${said}`,
      })
    : new ApiError('mailer_auth_failed', {
        message: `The OAuth provider refused the ${verdict === 'app' ? 'app' : 'token'}${said}`,
      })
}
