/** The front door of feedback: what was reported of mail that was handed over. */
export {
  type RecordedFact,
  type ReportedFlags,
  readFactsOf,
  readFlags,
  walkFlags,
} from './read-store.ts'
