/**
 * Mail programs and mail providers' image proxies by their user agents, which readers made for
 * browsers take for old browsers, or for robots. The first that fits is it.
 */
export interface MailProgram {
  /** What the events show as the browser's name. */
  readonly name: string
  /** Its group, where it has one, is the version. */
  readonly pattern: RegExp
  /** The reader's system and device, where the text tells them in no other way. */
  readonly system?: { readonly name: string; readonly deviceType: string }
  /** Fetches pictures for readers: what it says of system and device is not theirs. */
  readonly isProxy?: true
}

const IOS = { name: 'iOS', deviceType: 'mobile' }
const ANDROID = { name: 'Android', deviceType: 'mobile' }
const MACOS = { name: 'macOS', deviceType: 'desktop' }

export const mailPrograms: readonly MailProgram[] = [
  { name: 'Gmail', pattern: /GoogleImageProxy/, isProxy: true },
  { name: 'Yahoo Mail', pattern: /YahooMailProxy/, isProxy: true },
  { name: 'Outlook', pattern: /MSOffice rmj\)/, isProxy: true },
  { name: 'Outlook', pattern: /^Outlook-(?:iOS-)?Android\/(\d[\d.]*)/, system: ANDROID },
  { name: 'Outlook', pattern: /^Outlook-iOS\/(\d[\d.]*)/, system: IOS },
  { name: 'Outlook', pattern: /^MacOutlook\/(\d[\d.]*)/, system: MACOS },
  { name: 'Outlook', pattern: /Microsoft Outlook (\d[\d.]*)/ },
  { name: 'Outlook', pattern: /ms-office; MSOffice (\d[\d.]*)\)/ },
  { name: 'Thunderbird', pattern: / Thunderbird\/(\d[\d.]*)/ },
  { name: 'Roundcube', pattern: /^Roundcube Webmail\/(\d[\d.]*)/ },
]
