/** The front door of tracking: what recipients did. */
export { type Engagement, readEngagement, walkEngagement } from './engagement-store.ts'
