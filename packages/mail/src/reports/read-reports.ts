/**
 * Finds what a message reports of others: one report for each recipient, none for ordinary mail, for
 * automatic answers and for receipts of reading (RFC 8098). This is the one reader for reports by mail.
 * What each place of a message says is believed in this order:
 *
 * 1. The fields of a report: those of a complaint (RFC 5965), or of the status part of a delivery report
 *    (RFC 3464); then `X-Failed-Recipients`.
 * 2. The text before the message that is returned, as far as the fields leave it open: whom it is about,
 *    what happened, and why.
 * 3. The subject, decoded: whether a delivery failed or is delayed.
 *
 * The message that is returned tells which message it is about (its Message-ID), and nothing else. Its
 * recipient never comes from there. A report may name no message and no recipient: what comes back to a
 * return path of one copy is about that copy all the same.
 */
import type { MailReport } from './mail-report.ts'
import { readBounce } from './read-bounce.ts'
import { readComplaint } from './read-complaint.ts'
import type { ReportSource } from './report-source.ts'

export function readReports(source: ReportSource): readonly MailReport[] {
  if (source.reportType === 'disposition-notification') return []
  const readable = source.text.trim() === '' ? { ...source, text: wordsOf(source.html) } : source
  return readComplaint(readable) ?? readBounce(readable)
}

const HTML_CHARS_MAX = 262_144
const ENTITIES: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&nbsp;': ' ',
  '&amp;': '&',
}

/** Not of an address in brackets, which some do not encode. */
const TAG = /<(?![^\s<>@]{1,64}@[^\s<>@]{1,255}>)[^<>]*>/g

/** Enough to find addresses and replies: what elements are between is on lines of its own. */
function wordsOf(html: string): string {
  return html
    .slice(0, HTML_CHARS_MAX)
    .replace(TAG, '\n')
    .replace(/&(?:lt|gt|quot|#39|nbsp|amp);/g, (entity) => ENTITIES[entity] ?? entity)
    .replace(/\n[\s]*/g, '\n')
}
