/** The front door of tracking: what recipients did. */
export {
  type Engagement,
  type RecordedHit,
  readEngagement,
  readHitsOf,
  walkEngagement,
} from './record/engagement-store.ts'
