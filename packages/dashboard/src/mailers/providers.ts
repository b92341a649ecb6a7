/** Servers of well-known providers (their public help pages): what they ask for, nothing guessed. */
export interface Provider {
  readonly name: string
  readonly host: string
  readonly port: number
  readonly secure: 'Tls' | 'SSL'
  /** Where a mailbox is read with a password, by TLS from the start on port 993. */
  readonly imap?: string
  /**
   * Why the usual password is refused: programs need an app password; programs must be allowed first; or logins
   * by password are off unless an administrator allows them, so that OAuth is the usual way.
   */
  readonly login?: 'app_password' | 'allowed_first' | 'oauth'
}

export const providers: readonly Provider[] = [
  {
    name: 'Gmail',
    host: 'smtp.gmail.com',
    port: 465,
    secure: 'SSL',
    imap: 'imap.gmail.com',
    login: 'app_password',
  },
  { name: 'Microsoft 365', host: 'smtp.office365.com', port: 587, secure: 'Tls', login: 'oauth' },
  {
    name: 'iCloud',
    host: 'smtp.mail.me.com',
    port: 587,
    secure: 'Tls',
    imap: 'imap.mail.me.com',
    login: 'app_password',
  },
  {
    name: 'Yahoo',
    host: 'smtp.mail.yahoo.com',
    port: 465,
    secure: 'SSL',
    imap: 'imap.mail.yahoo.com',
    login: 'app_password',
  },
  {
    name: 'Fastmail',
    host: 'smtp.fastmail.com',
    port: 465,
    secure: 'SSL',
    imap: 'imap.fastmail.com',
    login: 'app_password',
  },
  { name: 'Zoho', host: 'smtp.zoho.com', port: 465, secure: 'SSL', imap: 'imap.zoho.com' },
  {
    name: 'GMX',
    host: 'mail.gmx.net',
    port: 587,
    secure: 'Tls',
    imap: 'imap.gmx.net',
    login: 'allowed_first',
  },
  {
    name: 'WEB.DE',
    host: 'smtp.web.de',
    port: 587,
    secure: 'Tls',
    imap: 'imap.web.de',
    login: 'allowed_first',
  },
  { name: 'IONOS', host: 'smtp.ionos.com', port: 465, secure: 'SSL', imap: 'imap.ionos.com' },
  { name: 'OVHcloud', host: 'ssl0.ovh.net', port: 465, secure: 'SSL', imap: 'ssl0.ovh.net' },
]
