/**
 * What becomes of the webhook of a username by a change of it (docs/reference/inbound.md#webhook-changes).
 * Pure.
 */

export interface WebhookBefore {
  readonly url: string | null
  readonly hasWebhook: boolean
  /** Of its own webhook. */
  readonly hasHeaders: boolean
}

export interface WebhookChange {
  /** null: the domain's. */
  readonly url?: string | null
  /** null: none. */
  readonly headers?: Readonly<Record<string, string>> | null
}

export interface WebhookAfter {
  readonly url: string | null
  readonly hasWebhook: boolean
  readonly step: 'none' | 'create' | 'change' | 'delete'
}

/** It has one of its own exactly while it has a URL or headers of its own. */
export function decideWebhook(before: WebhookBefore, change: WebhookChange): WebhookAfter {
  const url = change.url === undefined ? before.url : change.url
  const hasHeaders =
    change.headers === undefined ? before.hasHeaders : Object.keys(change.headers ?? {}).length > 0
  const hasWebhook = url !== null || hasHeaders
  if (before.hasWebhook) return { url, hasWebhook, step: hasWebhook ? 'change' : 'delete' }
  return { url, hasWebhook, step: hasWebhook ? 'create' : 'none' }
}
