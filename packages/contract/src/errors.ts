/**
 * The one catalogue of refusals: every `code` that an error answer can carry, with its status,
 * its public text, what causes it and what the caller does about it (docs/reference/errors.md#shape).
 *
 * Codes and statuses are part of the interface: one may be added, none renamed or moved.
 * `message` is the interface's own sentence where it gives one; a refusal may replace the others
 * by a more exact sentence, never these. `cause` and `fix` are the reference's text.
 */
import { type Static, Type } from 'typebox'

export interface ErrorEntry {
  readonly status: number
  readonly message: string
  readonly cause: string
  readonly fix: string
}

export const errorCatalogue = {
  validation_failed: {
    status: 400,
    message: 'Validation Failed',
    cause: 'A field or query parameter is missing, unknown, of the wrong type or out of its range.',
    fix: 'Correct the fields named in `errors`; each has the `path` of the offending value.',
  },
  invalid_json: {
    status: 400,
    message: 'Request body is not valid JSON',
    cause: 'The body is empty where one is required, is not JSON, or is not UTF-8.',
    fix: 'Send a JSON body with `Content-Type: application/json`.',
  },
  bad_request: {
    status: 400,
    message: 'Bad Request',
    cause: 'The HTTP request itself is malformed, so that no route could read it.',
    fix: 'Check the request line, the headers and the `Content-Length`.',
  },
  at_least_one_event_required: {
    status: 400,
    message: 'at least one of webhook_options.events must be true for EMAIL_EVENT',
    cause: 'None of the ten core events is enabled; `phishing` and `imap_error` do not count.',
    fix: 'Enable at least one of the ten core events in `webhook_options.events`.',
  },
  events_not_allowed: {
    status: 400,
    message: 'invalid webhook_options.events for DOMAIN_VERIFICATION',
    cause: 'Email events were given for a webhook that receives domain verifications.',
    fix: 'Omit `webhook_options`.',
  },
  url_not_allowed: {
    status: 400,
    message: 'webhook_url must be an https URL of a publicly reachable host, without credentials',
    cause:
      'The URL of a webhook is not https, holds credentials, or its host has a non-public address.',
    fix: 'Give a public https URL. The operator may allow further networks with `POSTRIDER_ALLOW_NETWORKS`, and http with `POSTRIDER_ALLOW_HTTP_WEBHOOKS`.',
  },
  duplicate_recipient: {
    status: 400,
    message: 'A recipient may occur once in an email',
    cause: 'One address occurs twice in `to`, `cc` and `bcc` together. Case does not matter.',
    fix: 'Remove the repetition named in `errors`.',
  },
  batch_refused: {
    status: 400,
    message: 'No message was accepted: a message of the batch is refused',
    cause: 'With `atomic`, at least one message of a batch is refused, so none is accepted.',
    fix: 'Correct the messages named in `errors`, such as `/messages/3/subject`, and send the whole batch again.',
  },
  unauthorized: {
    status: 401,
    message: 'Unauthorized',
    cause: 'The `Authorization` header is missing, or its key is unknown, revoked or expired.',
    fix: 'Send `Authorization: Bearer <API_KEY>` with a valid key.',
  },
  forbidden: {
    status: 403,
    message: 'Forbidden',
    cause: 'The key is valid, but its scopes do not cover this operation.',
    fix: 'Use a key with the scope of the operation.',
  },
  tenant_suspended: {
    status: 403,
    message: 'This account is suspended: it sends no mail',
    cause: 'The operator of the service has suspended the account. Reading works as before.',
    fix: 'Ask the operator. Mail that was accepted before is held, and goes out when the account is active again.',
  },
  not_found: {
    status: 404,
    message: 'Not Found',
    cause: 'There is no such route, or no such resource of this tenant.',
    fix: 'Check the path and the identifier.',
  },
  webhook_not_found: {
    status: 404,
    message: 'Webhook Not Found',
    cause: 'No webhook is registered for this event type.',
    fix: 'Register one first.',
  },
  content_removed: {
    status: 410,
    message: 'Content Removed',
    cause:
      'The content of the email or the received message was older than `POSTRIDER_CONTENT_RETENTION`, and was removed. What is recorded of it is still there.',
    fix: 'Keep a copy of what you need for longer, or ask the operator to raise `POSTRIDER_CONTENT_RETENTION`.',
  },
  method_not_allowed: {
    status: 405,
    message: 'Method Not Allowed',
    cause: 'The path exists, but not with this method.',
    fix: 'Use one of the methods in the `Allow` header.',
  },
  request_timeout: {
    status: 408,
    message: 'Request Timeout',
    cause: 'The request did not arrive completely in time.',
    fix: 'Send it again over a faster connection.',
  },
  conflict: {
    status: 409,
    message: 'Conflict',
    cause: 'The request conflicts with the present state of the resource.',
    fix: 'Read the resource and decide again.',
  },
  webhook_exists: {
    status: 409,
    message: 'Webhook Already Exists',
    cause: 'A webhook of this event type exists.',
    fix: 'Update or delete it.',
  },
  mailer_inactive: {
    status: 409,
    message: 'The mailer is not active',
    cause:
      'The mailer was deactivated because its login was rejected or its OAuth grant is gone. Or somebody disabled it.',
    fix: 'If it is deactivated, update its credentials with updateSMTP; with OAuth, log in again with oauthLogin and its `mailer_id`. If it is disabled, use setMailerActive. Or send with another mailer.',
  },
  mailer_exists: {
    status: 409,
    message: 'There is a mailer for this address',
    cause:
      'The account already has a mailer that sends, or one that fetches, for this address. Case does not matter. `message` names the first one.',
    fix: 'Update the mailer in `message`. Or give `allow_duplicate: true`, also to an update. Mail from the address then goes by the oldest active mailer, unless `mailer_id` names one.',
  },
  domain_taken: {
    status: 409,
    message: 'The domain belongs to somebody else',
    cause:
      'Another account of this service has verified the domain, for sending or for inbound mail. Or another account of the relay provider has it.',
    fix: 'Delete it in the other account, or remove the ownership record of the other account from its zone. A sending domain without its ownership record is released after a while. An inbound domain goes to the account whose ownership record is found.',
  },
  too_many_unverified: {
    status: 409,
    message: 'Too many inbound domains are not verified',
    cause: 'The account has configured 100 inbound domains that are not verified.',
    fix: 'Publish the records of some of them and get these domains, or delete some.',
  },
  template_exists: {
    status: 409,
    message: 'There is a template of this name',
    cause: 'Another template of the account has the name. `message` names its id.',
    fix: 'Choose another name, or update the template in `message`.',
  },
  too_many_templates: {
    status: 409,
    message: 'The account has no room for more templates',
    cause:
      'An account has at most 1,000 templates, a template 100 versions, and all of them together 64 MiB. `errors` names the limit, such as `/limits/versions`.',
    fix: 'Delete templates, or versions that you do not send any more, with deleteTemplate.',
  },
  idempotency_mismatch: {
    status: 409,
    message: 'This Idempotency-Key was used with another body',
    cause: 'The key belongs to a different request of the last 24 hours.',
    fix: 'Use a new key for a new email.',
  },
  idempotency_in_progress: {
    status: 409,
    message: 'A request with this Idempotency-Key is in progress',
    cause: 'The first request with this key has not been answered yet.',
    fix: 'Repeat the request after `Retry-After`.',
  },
  payload_too_large: {
    status: 413,
    message: 'Payload Too Large',
    cause:
      'The body is larger than 1 MiB, or than 40 MiB on `/v1/email/send` and `/v1/email/batch`.',
    fix: 'Send less in one request.',
  },
  uri_too_long: {
    status: 414,
    message: 'URI Too Long',
    cause: 'The path and query, or one parameter in the path, are too long.',
    fix: 'Shorten the identifier or the query.',
  },
  unsupported_media_type: {
    status: 415,
    message: 'Content-Type must be application/json',
    cause: 'The body has another type or is compressed; `message` says which.',
    fix: 'Send JSON with `Content-Type: application/json`, without `Content-Encoding`.',
  },
  url_unreachable: {
    status: 422,
    message: 'Could not connect to the webhook URL',
    cause: 'The name does not resolve, or the connection or its TLS handshake failed.',
    fix: 'Check that the receiver is up and has a valid certificate.',
  },
  no_mailer: {
    status: 422,
    message: 'No mailer for this sender',
    cause: 'No mailer has the address in `from`, and `mailer_id` names none.',
    fix: 'Configure a mailer for the address, or name one in `mailer_id`.',
  },
  no_template: {
    status: 422,
    message: 'There is no such template',
    cause:
      'No template of the account has the id in `template_id`, or the template has no version `template_version`.',
    fix: 'Create it with createTemplate, or give the id of one in listTemplates.',
  },
  mailer_unreachable: {
    status: 422,
    message: 'Could not connect to the mail server',
    cause: 'The name does not resolve, or connecting, greeting or TLS failed within 10 seconds.',
    fix: 'Check `config.host`, `config.port` and `config.secure`; `verify: false` skips the check. A closed port and a silent server have the same message. The operator can tell them apart with `npx postrider mailer test`.',
  },
  mailer_auth_failed: {
    status: 422,
    message: 'The mail server rejected the login',
    cause: 'The server, or the OAuth provider, refused the credentials; `message` holds the reply.',
    fix: 'Check `config.username` and `config.password`; many providers need an app password. With OAuth, log in again, or check the app.',
  },
  no_relay: {
    status: 422,
    message: 'No account at a relay provider',
    cause: 'The tenant has no account at a relay provider, or none of the kind in `relay`.',
    fix: 'Configure one with configureRelay.',
  },
  relay_required: {
    status: 422,
    message: 'There are several relay providers: name one in relay',
    cause: 'The tenant has accounts at more than one relay provider, and `relay` names none.',
    fix: 'Give `relay`.',
  },
  relay_unreachable: {
    status: 422,
    message: 'The relay provider could not be reached',
    cause:
      'Connecting failed, no answer came in time, or the provider could not serve the request now; `message` says which.',
    fix: "Check the relay's `api_base`, and try again later. Postrider continues what it has begun.",
  },
  relay_auth_failed: {
    status: 422,
    message: 'The relay provider rejected the API key',
    cause:
      "The provider refused the account's key, or the key lacks a permission; `message` holds the answer.",
    fix: 'Give a valid key with the permissions for sending and for sending domains.',
  },
  relay_refused: {
    status: 422,
    message: 'The relay provider refused the request',
    cause: "The provider's answer is in `message`.",
    fix: 'Correct what the provider names.',
  },
  oauth_failed: {
    status: 422,
    message: 'The OAuth login did not succeed',
    cause:
      'The grant lacks a scope or a refresh token, or its mailbox is unknown or is not the mailbox of the mailer. `message` says which.',
    fix: 'Log in again with the right mailbox, and grant all requested permissions.',
  },
  rate_limited: {
    status: 429,
    message: 'Too Many Requests',
    cause:
      'The tenant made too many requests in this window or at once, or a replay would queue too many events. `RateLimit-Policy` names the limit.',
    fix: 'Wait for `Retry-After`.',
  },
  quota_exceeded: {
    status: 429,
    message: 'A quota of this account is used up',
    cause:
      'The operator has set quotas for the account, and this email does not fit into one of them. `errors` names the quota, such as `/quotas/emails_per_day`.',
    fix: 'Send again after `Retry-After`, or ask the operator for more. An email with more recipients than the whole quota never fits: divide it.',
  },
  headers_too_large: {
    status: 431,
    message: 'Request Header Fields Too Large',
    cause: 'All headers of the request together are too large.',
    fix: 'Send fewer or shorter headers.',
  },
  internal_error: {
    status: 500,
    message: 'Internal Server Error',
    cause: 'A fault in the service. Nothing was promised to the caller.',
    fix: 'Repeat the request. If it fails again, report it with its `request_id`.',
  },
  unavailable: {
    status: 503,
    message: 'Service Unavailable',
    cause:
      'The storage is away or nearly full, the service is starting or stopping, or templates of others have all turns for a minute.',
    fix: 'Repeat the request after `Retry-After`. With `outcome: "unknown"` in the answer, the request may have been carried out: check before you repeat it. You may always repeat a request with an `Idempotency-Key`, or one whose repetition changes nothing.',
  },
} as const satisfies Record<string, ErrorEntry>

export type ErrorCode = keyof typeof errorCatalogue

export const errorCodes = Object.keys(errorCatalogue) as readonly ErrorCode[]

export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(errorCatalogue, text)
}

export type FieldError = Static<typeof fieldError>
export const fieldError = Type.Object(
  {
    path: Type.String({
      description: 'JSON Pointer of the offending value, or of where a missing one would stand',
      examples: ['/to/0/email'],
    }),
    message: Type.String({ description: 'What is wrong with it' }),
  },
  { additionalProperties: false },
)

export type ErrorBody = Static<typeof errorBody>
export const errorBody = Type.Object(
  {
    success: Type.Literal(false, { description: 'It was not done' }),
    message: Type.String({ description: 'What went wrong, for a person' }),
    code: Type.Enum([...errorCodes], {
      description: 'What went wrong, for a program',
    }),
    request_id: Type.String({
      description: 'The same as the `X-Request-Id` header',
    }),
    errors: Type.Optional(
      Type.Array(fieldError, {
        description: 'On validation: each offending field',
      }),
    ),
    outcome: Type.Optional(
      Type.Literal('unknown', {
        description:
          'On `unavailable`: the request, or a part of it, may have been carried out. Without it, nothing was done',
      }),
    ),
  },
  {
    additionalProperties: false,
    description: 'Every refusal and failure has this shape',
  },
)
