/**
 * Why a request is not taken as a webhook of the service.
 *
 * No message holds a header's value or a part of the body, so that it may be logged and answered.
 */
export type WebhookErrorCode =
  /** Not JSON in UTF-8, or nothing at all. */
  | 'not_json'
  /** JSON, but not what the service sends; `path` says where. */
  | 'not_an_event'
  /** More octets than the handler takes. */
  | 'too_large'
  /** The body ended early, or somebody else has read it. */
  | 'interrupted'
  /** The events were not handled in time. */
  | 'timeout'
  /** The header is missing, or its value is none of the secrets; or the signature does not fit. */
  | 'unauthorized'

export class WebhookError extends Error {
  override readonly name = 'WebhookError'
  readonly code: WebhookErrorCode
  /** JSON Pointer into the body, such as `/2/details/event_at`; empty for the body as a whole. */
  readonly path: string

  constructor(
    code: WebhookErrorCode,
    message: string,
    init: { readonly path?: string; readonly cause?: unknown } = {},
  ) {
    super(message, init.cause === undefined ? undefined : { cause: init.cause })
    this.code = code
    this.path = init.path ?? ''
  }
}
