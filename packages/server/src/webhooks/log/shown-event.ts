/** An event of the log as it is shown: as a webhook gets it, with its id. */
import type { ApiKeyScope } from '@postrider/contract'
import { addressEvent } from '../events/event.ts'
import type { LoggedBody, LogKey } from './log-store.ts'

/** Whether a caller may read the content of mail, which `INCOMING_EMAIL` has. */
export function mayReadContent({ scopes }: { readonly scopes: readonly ApiKeyScope[] }): boolean {
  return scopes.length === 0 || scopes.includes('content')
}

/** As JSON. It is not parsed: a received mail with attachments has megabytes. */
export function showEvent(key: LogKey, logged: LoggedBody): string {
  return `{"event_id":"${key.eventId}",${addressEvent(logged.body, logged.webhookId).slice(1)}`
}

export function isContent({ event }: Pick<LogKey, 'event'>): boolean {
  return event === 'INCOMING_EMAIL'
}

/** What is left of `INCOMING_EMAIL` without the content of the mail. */
export function showWithoutContent({ eventId, event, refId }: LogKey): string {
  return JSON.stringify({ event_id: eventId, event, success: true, details: { inbound_id: refId } })
}

/** As the database compares: addresses have no other letters in practice. */
export function asciiLower(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase())
}
