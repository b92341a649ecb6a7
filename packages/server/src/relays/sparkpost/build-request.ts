import type { RelayAccount, RelayRequest } from '../relay.ts'

export function buildRequest(
  { apiKey }: RelayAccount,
  method: RelayRequest['method'],
  path: string,
  body?: unknown,
): RelayRequest {
  return {
    method,
    path: `/v1${path}`,
    headers: { authorization: apiKey, accept: 'application/json' },
    ...(body === undefined ? {} : { body }),
  }
}
