/** The front door of feedback: what was reported of mail that was handed over. */
export { type AppliedReports, type ApplyReportsDeps, applyReports } from './apply/apply-reports.ts'
export type { LoggedBounce, NoteReports, RecipientReport } from './apply/note-reports.ts'
export { type Report, type ReportOutcome, reportOutcomes } from './apply/report.ts'
export type { FeedbackInbox } from './intake/inbox.ts'
export { measureInbox } from './intake/inbox-store.ts'
export {
  type RecordedFact,
  type ReportedFlags,
  readFactsOf,
  readFlags,
  walkFlags,
} from './read-store.ts'
export {
  type Lift,
  type ReviewedSuppression,
  reviewSuppressions,
} from './review/review-suppressions.ts'
