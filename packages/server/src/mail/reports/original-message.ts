/**
 * What a report gives of the message that it is about: its headers, or all of it, as a part or in the
 * text; else only what it answers. The Message-ID that a server put in the place of ours is not looked
 * at where it has kept ours beside.
 */
import { headerOf, mailboxesOf, messageIdsOf } from '../parse/header-values.ts'
import { type Fields, fieldOf, readFieldGroups } from './read-field-groups.ts'
import type { ReportSource } from './report-source.ts'
import { boundedId } from './report-text.ts'

export interface OriginalMessage {
  readonly messageId?: string
  /** Of its To; undefined where it has several. */
  readonly recipient?: string
  readonly fields: Fields
}

const RETURNED: ReadonlySet<string> = new Set([
  'message/rfc822',
  'message/global',
  'message/global-headers',
  'message/rfc822-headers',
  'text/rfc822-headers',
])
const ID_FIELDS = ['x-google-original-message-id', 'x-microsoft-original-message-id', 'message-id']
const ID_IN_TEXT = /^[>\s]{0,20}message-id:\s{0,20}(<[^<>\s]{1,998}>)/im

/** @param text what a person would read, bounded */
export function findOriginal({ headers, parts }: ReportSource, text: string): OriginalMessage {
  for (const { type, content } of parts) {
    const [fields] = RETURNED.has(type) ? readFieldGroups(content, 1) : []
    if (fields !== undefined) return toOriginal(fields, headers)
  }
  const messageId = ID_IN_TEXT.exec(text)?.[1] ?? answeredBy(headers)
  return { ...(messageId === undefined ? {} : { messageId }), fields: [] }
}

function toOriginal(fields: Fields, headers: Fields): OriginalMessage {
  const [own] = ID_FIELDS.flatMap((name) => messageIdsOf(fieldOf(fields, name) ?? '').slice(0, 1))
  const messageId = boundedId(own) ?? answeredBy(headers)
  const to = mailboxesOf([headerOf(fields, 'to')])
  const recipient = to.length === 1 && to[0]?.email !== '' ? to[0]?.email : undefined
  return {
    ...(messageId === undefined ? {} : { messageId }),
    ...(recipient === undefined ? {} : { recipient }),
    fields,
  }
}

function answeredBy(headers: Fields): string | undefined {
  const [answered] = messageIdsOf(headerOf(headers, 'in-reply-to'))
  return boundedId(answered ?? messageIdsOf(headerOf(headers, 'references')).at(-1))
}
