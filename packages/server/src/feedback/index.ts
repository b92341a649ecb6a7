/** The front door of feedback: what was reported of mail that was handed over. */
export { type AppliedReports, type ApplyReportsDeps, applyReports } from './apply-reports.ts'
export { type LoggedBounce, logBounces } from './log-bounces.ts'
export {
  type RecordedFact,
  type ReportedFlags,
  readFactsOf,
  readFlags,
  walkFlags,
} from './read-store.ts'
export { type Report, type ReportOutcome, reportOutcomes } from './report.ts'
export { type ReviewedSuppression, reviewSuppressions } from './review-suppressions.ts'
