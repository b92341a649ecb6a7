import type { RelayAccount, RelayRequest } from '../relay.ts'

/** The documents write the base of the API with its version and without: both are taken. */
export function buildRequest(
  { apiBase, apiKey }: RelayAccount,
  method: RelayRequest['method'],
  path: string,
  body?: unknown,
): RelayRequest {
  return {
    method,
    path: (apiBase.endsWith('/v1') ? '' : '/v1') + path,
    headers: { authorization: apiKey, accept: 'application/json' },
    ...(body === undefined ? {} : { body }),
  }
}
