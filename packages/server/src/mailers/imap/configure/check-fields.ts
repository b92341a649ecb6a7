/**
 * What the fields of a mailbox mean, beyond the shape that the schema checks
 * (docs/reference/inbound.md#mailboxes). Each refusal names its field's path.
 */
import type { ConnectionType, FieldError, ImapConfig } from '@postrider/contract'
import { parseDateTime } from '../../../platform/values/date-time.ts'
import { nullAs } from '../../../platform/values/null-as.ts'
import { checkConfig } from '../../smtp/check-config.ts'

/** Of a new mailer: unlike a server that mail is handed to, a mailbox always has a login. */
export function checkImapConfig(type: ConnectionType, config: ImapConfig): FieldError[] {
  const errors = checkConfig(type, config)
  if (type !== 'basic' || config.username !== undefined || config.password !== undefined)
    return errors
  return [
    ...errors,
    ...['username', 'password'].map((name) => ({
      path: `/config/${name}`,
      message: 'is required',
    })),
  ]
}

/** Of a mailer that names none. */
export const defaultFolders = ['INBOX'] as const

export interface CheckedMailbox {
  /** As they are used: the inbox has one spelling. */
  readonly folders?: readonly string[]
  readonly since?: Date
  readonly errors: readonly FieldError[]
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it finds
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/
/** The clocks of two machines differ by as much. */
const AHEAD_MS_MAX = 5 * 60_000

export function checkMailboxFields(
  body: {
    readonly folders?: readonly string[] | null | undefined
    readonly since?: string | null | undefined
  },
  now: Date,
): CheckedMailbox {
  const errors: FieldError[] = []
  const given = nullAs(body.folders, defaultFolders)
  const folders = given?.map((name) => (name.toUpperCase() === 'INBOX' ? 'INBOX' : name))
  for (const [i, name] of (folders ?? []).entries()) {
    const problem = problemOfFolder(name, folders?.indexOf(name) !== i)
    if (problem !== undefined) errors.push({ path: `/folders/${i}`, message: problem })
  }
  const since = body.since == null ? undefined : parseDateTime(body.since)
  if (body.since != null && since === undefined)
    errors.push({
      path: '/since',
      message: 'must be an RFC 3339 time such as 2026-11-20T18:00:00Z',
    })
  if (since !== undefined && since.getTime() > now.getTime() + AHEAD_MS_MAX)
    errors.push({ path: '/since', message: 'must not be in the future' })
  return {
    errors,
    ...(folders === undefined ? {} : { folders }),
    ...(since === undefined ? {} : { since }),
  }
}

/** What lists would take for a pattern is no name (RFC 3501 §5.1). */
function problemOfFolder(name: string, isRepeated: boolean): string | undefined {
  if (isRepeated) return 'is given twice'
  if (CONTROL.test(name) || !name.isWellFormed()) return 'must not contain control characters'
  return /[*%]/.test(name) ? 'must not contain * or %' : undefined
}
