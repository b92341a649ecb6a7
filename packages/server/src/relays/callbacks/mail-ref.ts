/**
 * The name by which a provider gives along whose copy of which email a report is of: `<ref_id>.<n>`.
 * Whether it is one of that tenant's emails is for the reader of the report to find out.
 */
import type { RelayFact, RelayMail } from '../relay.ts'

/** Providers put it beside fields of their own: the prefix keeps it apart. */
export const mailRefName = 'postrider_ref'

const MAIL_REF = /^([0-7][0-9A-HJKMNP-TV-Z]{25})\.(\d{1,6})$/

export function writeMailRef({ refId, n }: Pick<RelayMail, 'refId' | 'n'>): string {
  return `${refId}.${n}`
}

export function readMailRef(value: unknown): RelayFact['ref'] {
  const [, refId, n] = MAIL_REF.exec(typeof value === 'string' ? value : '') ?? []
  return refId === undefined ? undefined : { refId, n: Number(n) }
}
