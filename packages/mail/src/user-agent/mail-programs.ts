/**
 * Mail programs and mail providers' image proxies by their user agents, and browsers of few words, which
 * readers made for browsers take for old browsers, or for robots. The first that fits is it.
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
const WINDOWS = { name: 'Windows', deviceType: 'desktop' }

export const mailPrograms: readonly MailProgram[] = [
  { name: 'Gmail', pattern: /GoogleImageProxy/, isProxy: true },
  { name: 'Yahoo Mail', pattern: /YahooMailProxy/, isProxy: true },
  { name: 'Outlook', pattern: /MSOffice rmj\)/, isProxy: true },
  { name: 'Outlook', pattern: /^Outlook-(?:iOS-)?Android\/(\d+(?:\.\d+)*)/, system: ANDROID },
  { name: 'Outlook', pattern: /^Outlook-iOS\/(\d+(?:\.\d+)*)/, system: IOS },
  { name: 'Outlook', pattern: /^MacOutlook\/(\d[\d.]*)/, system: MACOS },
  { name: 'Outlook', pattern: /Microsoft Outlook (\d[\d.]*)/ },
  { name: 'Outlook', pattern: /ms-office; MSOffice (\d[\d.]*)\)/ },
  { name: 'Thunderbird', pattern: / Thunderbird\/(\d[\d.]*)/ },
  { name: 'Gmail', pattern: /^Android-Gmail\/(\d+)/, system: ANDROID },
  { name: 'Gmail', pattern: /^com\.google\.Gmail\/(\d[\d.]*)/, system: IOS },
  {
    name: 'Yahoo Mail',
    pattern: /^Yahoo(?:Mobile)?Mail\/(\d[\d.]*)|^YahooMobile\/\d[\d.]* \(mail;/,
  },
  { name: 'Yahoo Mail', pattern: /^Yahoo%20Mail\/(\d[\d.]*) CFNetwork\// },
  { name: 'eM Client', pattern: /\beM ?Client\/(\d[\d.]*)/ },
  { name: 'Windows Mail', pattern: /^Windows(?:Mail|-Live-Mail)\/(\d[\d.]*)/, system: WINDOWS },
  { name: 'Mailbird', pattern: /\bMailbird\/(\d+(?:\.\d+)*)/ },
  { name: 'DaumMail', pattern: /\bDaumMail\/(\d[\d.]*)/, system: ANDROID },
  { name: 'UC Browser', pattern: /;pr\(UCBrowser(?:\/(\d[\d.]*))?\)/, system: IOS },
  { name: 'UC Browser', pattern: /^UCWEB\/.* UC(?:Browser|Mini)\/(\d[\d.]*)/ },
  ...[
    'AquaMail',
    'Balsa',
    'Barca',
    'BarcaPro',
    'Claws Mail',
    'Evolution',
    'FairEmail',
    'IncrediMail',
    'K-9 Mail',
    'Lotus-Notes',
    'NaverMailApp',
    'Nine',
    'Pegasus Mail',
    'PocoMail',
    'RainLoop',
    'Roundcube Webmail',
    'SamsungEmail',
    'SquirrelMail',
    'Trojita',
    'Zimbra',
    // Browsers that name themselves alone.
    'Dillo',
    'NetSurf',
    'w3m',
  ].map(byName),
]

/** One whose text begins with its name and version. */
function byName(name: string): MailProgram {
  const [shown = name] = name.split(' Webmail')
  return { name: shown, pattern: new RegExp(`^${name}[/ ]v?(\\d[\\w.]*)`) }
}
