/** Answers of token endpoints (RFC 6749 §5.2), in the form that Google and Microsoft give them. */
export interface TokenReply {
  readonly status: number
  /** An object is written as JSON. */
  readonly body: string | Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, string>>
}

const microsoft = (error: string, code: number, text: string): TokenReply => ({
  status: error === 'invalid_client' ? 401 : 400,
  body: {
    error,
    error_description: `AADSTS${code}: ${text} Trace ID: 5f3c8a1e-0000-4000-8000-0123456789ab Correlation ID: 7d1f2b4c-0000-4000-8000-0123456789ab Timestamp: 2026-11-20 12:00:00Z`,
    error_codes: [code],
    timestamp: '2026-11-20 12:00:00Z',
    trace_id: '5f3c8a1e-0000-4000-8000-0123456789ab',
    correlation_id: '7d1f2b4c-0000-4000-8000-0123456789ab',
    error_uri: `https://login.microsoftonline.com/error?code=${code}`,
  },
})
export const google = (error: string, text: string, more: object = {}): TokenReply => ({
  status: error === 'invalid_client' || error === 'unauthorized_client' ? 401 : 400,
  body: { error, error_description: text, ...more },
})

/** What the providers answer when a refresh does not succeed. */
export const REFUSALS = {
  googleRevoked: google('invalid_grant', 'Token has been expired or revoked.'),
  googleBadRequest: google('invalid_grant', 'Bad Request'),
  googleDeleted: google('invalid_grant', 'The account has been deleted'),
  googleReauthentication: google('invalid_grant', 'reauth related error (invalid_rapt)', {
    error_subtype: 'invalid_rapt',
    error_uri: 'https://support.google.com/a/answer/9368756',
  }),
  googleNoClient: google('invalid_client', 'The OAuth client was not found.'),
  googleWrongSecret: google('invalid_client', 'Unauthorized'),
  googleUnauthorizedClient: google('unauthorized_client', 'Unauthorized'),
  googleUnavailable: { status: 503, body: '<html><title>Error 503</title></html>' },
  microsoftExpired: microsoft('invalid_grant', 700082, 'The refresh token has expired.'),
  microsoftRevoked: microsoft('invalid_grant', 50173, 'The provided grant has expired.'),
  microsoftDisabled: microsoft('invalid_grant', 50057, 'The user account is disabled.'),
  microsoftConsent: microsoft('invalid_grant', 65001, 'The user has not consented.'),
  microsoftSecondFactor: microsoft('interaction_required', 50076, 'You must use a second factor.'),
  microsoftWrongSecret: microsoft('invalid_client', 7000215, 'Invalid client secret provided.'),
  microsoftSecretExpired: microsoft('invalid_client', 7000222, 'The client secret is expired.'),
  microsoftNoApp: microsoft('unauthorized_client', 700016, 'Application was not found.'),
  microsoftScope: microsoft('invalid_scope', 70011, 'The scope is not valid.'),
  microsoftBusy: microsoft('temporarily_unavailable', 90033, 'A transient error has occurred.'),
  microsoftLoop: microsoft('invalid_grant', 50196, 'The server has found a request loop.'),
} as const satisfies Record<string, TokenReply>
