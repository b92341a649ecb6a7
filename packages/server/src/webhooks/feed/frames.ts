/**
 * An event as streams write it. Its bytes are made once and shared by all streams, also those in which they
 * wait for a slow reader.
 */
import type { LoggedBody } from '../log/log-store.ts'
import { asciiLower, isContent, showEvent, showWithoutContent } from '../log/shown-event.ts'
import type { FeedKey } from './feed-store.ts'

export interface FeedFilters {
  readonly event: string | undefined
  readonly refId: string | undefined
  /** In lower case. */
  readonly email: string | undefined
  readonly mailerId: string | undefined
}

export interface Frame {
  readonly key: FeedKey
  /** What a caller gets that may read the content of mail, or may not. */
  bytes(mayReadContent: boolean): Buffer
  /** Of the filters, those that the body decides. */
  fits(filters: FeedFilters): boolean
}

/** Of the filters, those that can be decided without the body. */
export function mayFit(key: FeedKey, { event, refId, email, mailerId }: FeedFilters): boolean {
  if (event !== undefined && key.event !== event) return false
  if (refId !== undefined && key.refId !== refId) return false
  if (email !== undefined && (key.owner !== '' || key.refId === '')) return false
  return mailerId === undefined || key.owner === '' || key.owner === mailerId
}

interface Details {
  readonly email?: unknown
  readonly mailer_id?: unknown
}

export function createFrame(key: FeedKey, logged: LoggedBody): Frame {
  let whole: Buffer | undefined
  let bare: Buffer | undefined
  let details: Details | undefined
  const read = () => {
    details ??= (JSON.parse(logged.body) as { details: Details }).details
    return details
  }
  return {
    key,
    bytes(mayReadContent) {
      if (mayReadContent || !isContent(key)) {
        whole ??= write(key, showEvent(key, logged))
        return whole
      }
      bare ??= write(key, showWithoutContent(key))
      return bare
    },
    fits({ email, mailerId }) {
      if (email !== undefined && !addresses(read()).includes(email)) return false
      return mailerId === undefined || key.owner !== '' || read().mailer_id === mailerId
    },
  }
}

function addresses({ email }: Details): string[] {
  return [email].flat().flatMap((one) => (typeof one === 'string' ? asciiLower(one) : []))
}

function write({ eventId, event }: FeedKey, json: string): Buffer {
  return Buffer.from(`id: ${eventId}\nevent: ${event}\ndata: ${json}\n\n`)
}

/** It has no id: a reader that comes back continues behind the last event that it got. */
export function gapFrame(gap: { readonly reason: string; readonly count: number | null }): Buffer {
  return Buffer.from(`event: gap\ndata: ${JSON.stringify(gap)}\n\n`)
}

/** Waits two seconds before it comes back. */
export const openingFrame = Buffer.from(': open\nretry: 2000\n\n')
export const silenceFrame = Buffer.from(': nothing new\n\n')
