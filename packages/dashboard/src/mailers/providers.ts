/** Submission servers of well-known providers (their public help pages): what they ask for, nothing guessed. */
export interface Provider {
  readonly name: string
  readonly host: string
  readonly port: number
  readonly secure: 'Tls' | 'SSL'
}

export const providers: readonly Provider[] = [
  { name: 'Gmail', host: 'smtp.gmail.com', port: 465, secure: 'SSL' },
  { name: 'Microsoft 365', host: 'smtp.office365.com', port: 587, secure: 'Tls' },
  { name: 'iCloud', host: 'smtp.mail.me.com', port: 587, secure: 'Tls' },
  { name: 'Yahoo', host: 'smtp.mail.yahoo.com', port: 465, secure: 'SSL' },
  { name: 'Fastmail', host: 'smtp.fastmail.com', port: 465, secure: 'SSL' },
  { name: 'Zoho', host: 'smtp.zoho.com', port: 465, secure: 'SSL' },
  { name: 'GMX', host: 'mail.gmx.net', port: 587, secure: 'Tls' },
  { name: 'WEB.DE', host: 'smtp.web.de', port: 587, secure: 'Tls' },
  { name: 'IONOS', host: 'smtp.ionos.com', port: 465, secure: 'SSL' },
  { name: 'OVHcloud', host: 'ssl0.ovh.net', port: 465, secure: 'SSL' },
]
