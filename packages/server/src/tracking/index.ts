/** The front door of tracking: what recipients did. */
export {
  type Engagement,
  type RecordedHit,
  readEngagement,
  readHitsOf,
  walkEngagement,
} from './record/engagement-store.ts'
export { REFUSED, TAKEN, UNREADABLE, WRITTEN } from './spool/spool-files.ts'
export { trackingKeys } from './tokens.ts'
