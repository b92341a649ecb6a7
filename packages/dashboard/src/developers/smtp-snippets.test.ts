import { expect, it } from 'vitest'
import { portOf, smtpSnippets } from './smtp-snippets.ts'

const both = { host: 'mail.example.com', starttls_port: 587, tls_port: 465 }
const from = 'news@example.com'

it('prefers STARTTLS, and takes the port with TLS where it is the only one', () => {
  expect(portOf(both)).toEqual({ port: 587, isTls: false })
  expect(portOf({ ...both, starttls_port: null })).toEqual({ port: 465, isTls: true })
})

it('asks every program for encryption, and for a login by a key', () => {
  const starttls = smtpSnippets(both, from)
  expect(starttls.swaks).toContain('--server mail.example.com:587 --tls \\')
  expect(starttls.nodemailer).toContain('port: 587,\n  requireTLS: true')
  expect(starttls.django).toContain('EMAIL_PORT = 587\nEMAIL_USE_TLS = True')
  expect(starttls.postfix).toContain('relayhost = [mail.example.com]:587')
  expect(starttls.postfix).not.toContain('wrappermode')
  for (const snippet of [starttls.swaks, starttls.nodemailer, starttls.django])
    expect(snippet).toContain('POSTRIDER_API_KEY')
})

it('begins with TLS on the other port', () => {
  const tls = smtpSnippets({ ...both, starttls_port: null }, from)
  expect(tls.swaks).toContain(':465 --tls-on-connect')
  expect(tls.nodemailer).toContain('port: 465,\n  secure: true')
  expect(tls.django).toContain('EMAIL_USE_SSL = True')
  expect(tls.postfix).toContain('smtp_tls_security_level = encrypt\nsmtp_tls_wrappermode = yes')
})
