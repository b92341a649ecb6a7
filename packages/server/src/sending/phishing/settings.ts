/** What a tenant has set for phishing protection. */
import { defaultPhishingThreshold } from '@postrider/contract'

export interface PhishingSettings {
  readonly isEnabled: boolean
  /** A score of so much or more stops an email; 1 to 100. */
  readonly threshold: number
  /** In A-labels and lower case; each with everything below it. */
  readonly blockedDomains: ReadonlySet<string>
  /** Undefined: never set, all of it is the default. */
  readonly updatedAt?: Date
}

export const defaultSettings: PhishingSettings = {
  isEnabled: true,
  threshold: defaultPhishingThreshold,
  blockedDomains: new Set(),
}
