/** What the address of one email holds: whose copy, and which tab. */
export const emailTabs = [
  'timeline',
  'preview',
  'text',
  'source',
  'headers',
  'links',
  'events',
] as const
export type EmailTab = (typeof emailTabs)[number]

export const previewWidths = ['desktop', 'phone'] as const
export type PreviewWidth = (typeof previewWidths)[number]

export interface EmailSearch {
  readonly recipient?: string
  readonly tab?: Exclude<EmailTab, 'timeline'>
  readonly width?: 'phone'
}

export function readEmailSearch(given: Readonly<Record<string, unknown>>): EmailSearch {
  const { recipient, tab, width } = given
  const known = emailTabs.find((one) => one === tab)
  return {
    ...(typeof recipient === 'string' &&
      recipient !== '' && { recipient: recipient.slice(0, 320) }),
    ...(known !== undefined && known !== 'timeline' && { tab: known }),
    ...(width === 'phone' && { width }),
  }
}
