/** What the service says in the address that a browser comes back to after a login at a provider. */
export interface ConnectedSearch {
  readonly success?: boolean
  readonly mailer_id?: string
  /** A code of the service or of the provider: anybody may have written it. */
  readonly error?: string
}

const errorLengthMax = 200

export function readConnectedSearch(found: Record<string, unknown>): ConnectedSearch {
  const { success, mailer_id, error } = found
  const isSuccess = success === true && typeof mailer_id === 'string'
  return {
    success: isSuccess,
    ...(isSuccess && { mailer_id }),
    ...(!isSuccess && error !== undefined && { error: String(error).slice(0, errorLengthMax) }),
  }
}
