/**
 * Finds what a message reports of others: one report for each recipient, none for ordinary mail, for
 * automatic answers and for receipts of reading (RFC 8098). What names neither message nor recipient is
 * about nothing.
 */
import type { MailReport } from './mail-report.ts'
import { readComplaint } from './read-complaint.ts'
import { readDeliveryReport } from './read-delivery-report.ts'
import { readInformalBounce } from './read-informal-bounce.ts'
import type { ReportSource } from './report-source.ts'

export function readReports(source: ReportSource): readonly MailReport[] {
  if (source.reportType === 'disposition-notification') return []
  const readable = source.text.trim() === '' ? { ...source, text: wordsOf(source.html) } : source
  const reports =
    readComplaint(readable) ?? readDeliveryReport(readable) ?? readInformalBounce(readable)
  return reports.filter(
    ({ originalMessageId, recipient }) =>
      originalMessageId !== undefined || recipient !== undefined,
  )
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

/** Enough to find addresses and replies: what elements are between is on lines of its own. */
function wordsOf(html: string): string {
  return html
    .slice(0, HTML_CHARS_MAX)
    .replace(/<[^<>]*>/g, '\n')
    .replace(/&(?:lt|gt|quot|#39|nbsp|amp);/g, (entity) => ENTITIES[entity] ?? entity)
    .replace(/\n[\s]*/g, '\n')
}
