/** Phishing protection: what is looked for in content, and how much of it is there. */
export { createRspamd, rspamdOutcomes } from './ask-rspamd.ts'
export type { Scan, ScannedContent, ScanResult } from './content.ts'
export { domainsAbove } from './host-name.ts'
export { createPhishingScanner, type PhishingScanner } from './scanner.ts'
export { withSecondOpinion } from './second-opinion.ts'
