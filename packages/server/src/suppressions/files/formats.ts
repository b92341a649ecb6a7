/**
 * What the exports of other services say (docs/reference/suppressions.md#importing): their columns, and the
 * reason that a line gives. Column names are compared without case and without what is no letter or digit:
 * files of the dashboards and of the APIs differ in that.
 */
import {
  type SuppressionFormat,
  type SuppressionReason,
  suppressionFormats,
  suppressionReasons,
} from '@postrider/contract'
import { parseDateTime } from '../../platform/values/date-time.ts'

export interface Format {
  /** Columns that each of its files has, as their documents spell them; the first holds the address. */
  readonly required: readonly [string, ...string[]]
  /** A column that none of its files has, and those of another format have. */
  readonly foreign?: string
  readonly createdAt: string
  /** The column that goes into the note. */
  readonly note?: string
  /** By the columns of the file, for a line of it. Undefined: the line does not say it, and `problem` is why. */
  readonly reason: (columns: Columns) => SuppressionReason | { readonly problem: string }
  /** Columns of a file without a header. */
  readonly withoutHeader?: readonly string[]
  /** Ours: what it holds is read strictly. */
  readonly isOwn?: true
}

export interface Columns {
  has(...names: string[]): boolean
  /** Of the line; '' where the file has no such column. */
  exact(name: string): string
  /** Without space around it. */
  get(name: string): string
}

export const formats: Readonly<Record<SuppressionFormat, Format>> = {
  postrider: {
    required: ['email'],
    foreign: 'created',
    createdAt: 'createdat',
    note: 'note',
    isOwn: true,
    reason(columns) {
      const given = columns.get('reason')
      if (given === '') return 'manual'
      return (
        suppressionReasons.find((reason) => reason === given) ?? {
          problem: `reason must be one of ${suppressionReasons.join(', ')}`,
        }
      )
    },
  },
  // One file for each list. Only bounces have a status, and only spam reports an address of the reporter.
  sendgrid: {
    required: ['email', 'created'],
    createdAt: 'created',
    note: 'reason',
    reason(columns) {
      if (columns.has('status', 'reason')) return 'bounced'
      return columns.has('ip') ? 'complained' : 'unsubscribed'
    },
  },
  // One file for each list.
  mailgun: {
    required: ['address'],
    createdAt: 'createdat',
    note: 'error',
    reason(columns) {
      if (columns.has('code', 'error')) return 'bounced'
      if (!columns.has('tags')) return 'complained'
      const tags = columns.get('tags')
      return tags === '' || tags.includes('*')
        ? 'unsubscribed'
        : { problem: 'is unsubscribed from single tags: an address is suppressed for all mail' }
    },
  },
  postmark: {
    required: ['EmailAddress', 'SuppressionReason'],
    createdAt: 'createdat',
    reason(columns) {
      const given = plain(columns.get('suppressionreason'))
      if (given === 'hardbounce') return 'bounced'
      if (given === 'spamcomplaint') return 'complained'
      if (given === 'manualsuppression')
        return plain(columns.get('origin')) === 'recipient' ? 'unsubscribed' : 'manual'
      return {
        problem: 'SuppressionReason must be HardBounce, SpamComplaint or ManualSuppression',
      }
    },
  },
  ses: {
    required: ['EmailAddress', 'Reason'],
    createdAt: 'lastupdatetime',
    withoutHeader: ['emailaddress', 'reason', 'lastupdatetime'],
    reason(columns) {
      const given = plain(columns.get('reason'))
      if (given === 'bounce') return 'bounced'
      return given === 'complaint'
        ? 'complained'
        : { problem: 'Reason must be BOUNCE or COMPLAINT' }
    },
  },
}

/**
 * Whether these columns are those of the format; a problem says of which other one they are.
 *
 * A file of another service would be read without complaint otherwise, and with the wrong reasons.
 */
export function checkColumns(
  names: ReadonlySet<string>,
  chosen: SuppressionFormat,
): { readonly problem: string } | undefined {
  const isOf = ({ required, foreign }: Format) =>
    required.every((name) => names.has(plain(name))) &&
    !(foreign !== undefined && names.has(foreign))
  if (isOf(formats[chosen])) return undefined
  const { required } = formats[chosen]
  const columns = `must name the column${required.length === 1 ? '' : 's'} ${required.join(' and ')}`
  const [other] = suppressionFormats.filter((one) => isOf(formats[one]))
  return {
    problem:
      other === undefined
        ? columns
        : `is that of the format ${other}: choose it, or give the file the columns of ${chosen}`,
  }
}

/** Letters and digits alone, in lower case. */
export function plain(text: string): string {
  return text.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
}

/** RFC 3339, SQL's form (in UTC), RFC 2822, or seconds since 1970. Undefined: none of them. */
export function readForeignTime(text: string): Date | undefined {
  if (/^\d{9,10}$/.test(text)) return new Date(Number(text) * 1000)
  if (/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?$/.test(text))
    return parseDateTime(`${text.replace(' ', 'T')}Z`)
  const rfc3339 = parseDateTime(text)
  if (rfc3339 !== undefined) return rfc3339
  const ms = /^[A-Z][a-z]{2}, \d{1,2} [A-Z][a-z]{2} \d{4} /.test(text)
    ? Date.parse(text)
    : Number.NaN
  return Number.isNaN(ms) ? undefined : new Date(ms)
}
