/**
 * Which message a report is about: the Message-ID among the headers that it returns, as a part or in the
 * text, else the id that the report answers. The Message-ID that a server put in the place of ours is not
 * looked at where it has kept ours beside. Nothing else is read from a returned message: its `To` is what
 * its author wrote, not whom a server failed to reach.
 */
import { headerOf, messageIdsOf } from '../parse/header-values.ts'
import { type Fields, fieldOf, readFieldGroups } from './read-field-groups.ts'
import type { ReportSource } from './report-source.ts'
import { boundedId } from './report-text.ts'

const RETURNED: ReadonlySet<string> = new Set([
  'message/rfc822',
  'message/global',
  'message/global-headers',
  'message/rfc822-headers',
  'text/rfc822-headers',
])
const ID_FIELDS = ['x-google-original-message-id', 'x-microsoft-original-message-id', 'message-id']
/** What a server says before the copy that it returns is far shorter. */
const TEXT_CHARS_MAX = 262_144
/** It is found by its name, and only then is looked at what it is after: lines may be all quotes and blanks. */
const ID_IN_TEXT = /message-id:\s{0,20}(<[^<>\s]{1,998}>)/gi
const QUOTED_CHARS_MAX = 20
const BEGINS_LINE = new RegExp(`(?:^|[\\r\\n])[>\\s]{0,${QUOTED_CHARS_MAX}}$`)

/** With its angle brackets; undefined where the report tells none. */
export function originalMessageIdOf(source: ReportSource): string | undefined {
  const returned = returnedFieldsOf(source)
  const [own] = ID_FIELDS.flatMap((name) => messageIdsOf(fieldOf(returned, name) ?? '').slice(0, 1))
  const inText = returned.length > 0 ? undefined : idInText(source.text.slice(0, TEXT_CHARS_MAX))
  return boundedId(own) ?? inText ?? answeredBy(source.headers)
}

/** The first at the beginning of a line, behind the marks of a quotation. */
function idInText(text: string): string | undefined {
  for (const { index, 1: id } of text.matchAll(ID_IN_TEXT)) {
    // One more than may be there: what is longer has no beginning in it.
    const before = text.slice(Math.max(0, index - QUOTED_CHARS_MAX - 1), index)
    if (BEGINS_LINE.test(before)) return id
  }
  return undefined
}

/** Of the message that is returned as a part; none without one. */
export function returnedFieldsOf({ parts }: ReportSource): Fields {
  for (const { type, content } of parts) {
    const [fields] = RETURNED.has(type) ? readFieldGroups(content, 1) : []
    if (fields !== undefined) return fields
  }
  return []
}

function answeredBy(headers: Fields): string | undefined {
  const [answered] = messageIdsOf(headerOf(headers, 'in-reply-to'))
  return boundedId(answered ?? messageIdsOf(headerOf(headers, 'references')).at(-1))
}
