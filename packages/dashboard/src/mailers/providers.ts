/** Servers of well-known providers (their public help pages): what they ask for, nothing guessed. */
export interface Provider {
  readonly name: string
  readonly host: string
  readonly port: number
  readonly secure: 'Tls' | 'SSL'
  /** Where a mailbox is read with a password, by TLS from the start on port 993. */
  readonly imap?: string
}

export const providers: readonly Provider[] = [
  { name: 'Gmail', host: 'smtp.gmail.com', port: 465, secure: 'SSL', imap: 'imap.gmail.com' },
  { name: 'Microsoft 365', host: 'smtp.office365.com', port: 587, secure: 'Tls' },
  { name: 'iCloud', host: 'smtp.mail.me.com', port: 587, secure: 'Tls', imap: 'imap.mail.me.com' },
  {
    name: 'Yahoo',
    host: 'smtp.mail.yahoo.com',
    port: 465,
    secure: 'SSL',
    imap: 'imap.mail.yahoo.com',
  },
  {
    name: 'Fastmail',
    host: 'smtp.fastmail.com',
    port: 465,
    secure: 'SSL',
    imap: 'imap.fastmail.com',
  },
  { name: 'Zoho', host: 'smtp.zoho.com', port: 465, secure: 'SSL', imap: 'imap.zoho.com' },
  { name: 'GMX', host: 'mail.gmx.net', port: 587, secure: 'Tls', imap: 'imap.gmx.net' },
  { name: 'WEB.DE', host: 'smtp.web.de', port: 587, secure: 'Tls', imap: 'imap.web.de' },
  { name: 'IONOS', host: 'smtp.ionos.com', port: 465, secure: 'SSL', imap: 'imap.ionos.com' },
  { name: 'OVHcloud', host: 'ssl0.ovh.net', port: 465, secure: 'SSL', imap: 'ssl0.ovh.net' },
]
