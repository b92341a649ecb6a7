/** How programs hand in mail over SMTP, with the address of this service. */
import type { SubmissionAddress } from '@postrider/client'
import { quoteForShell } from './snippets-of.ts'

export const smtpLogin = 'postrider'

/** STARTTLS goes first: it is what programs have as their default. */
export function portOf({ starttls_port, tls_port }: SubmissionAddress) {
  return starttls_port === null
    ? { port: tls_port ?? 465, isTls: true }
    : { port: starttls_port, isTls: false }
}

export function smtpSnippets(address: SubmissionAddress, from: string) {
  const { host } = address
  const { port, isTls } = portOf(address)
  return {
    swaks: `swaks --server ${host}:${port} ${isTls ? '--tls-on-connect' : '--tls'} \\
  --auth PLAIN --auth-user ${smtpLogin} --auth-password "$POSTRIDER_API_KEY" \\
  --from ${quoteForShell(from)} --to you@example.com --header 'Subject: Hello' --body 'It works.'`,
    nodemailer: `import nodemailer from 'nodemailer'

const transport = nodemailer.createTransport({
  host: '${host}',
  port: ${port},
  ${isTls ? 'secure: true' : 'requireTLS: true'},
  auth: { user: '${smtpLogin}', pass: process.env.POSTRIDER_API_KEY },
})`,
    django: `EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
EMAIL_HOST = "${host}"
EMAIL_PORT = ${port}
${isTls ? 'EMAIL_USE_SSL' : 'EMAIL_USE_TLS'} = True
EMAIL_HOST_USER = "${smtpLogin}"
EMAIL_HOST_PASSWORD = os.environ["POSTRIDER_API_KEY"]
DEFAULT_FROM_EMAIL = ${JSON.stringify(from)}`,
    postfix: `# main.cf; sasl_passwd has: [${host}]:${port} ${smtpLogin}:pr_...
relayhost = [${host}]:${port}
smtp_sasl_auth_enable = yes
smtp_sasl_password_maps = texthash:/etc/postfix/sasl_passwd
smtp_sasl_security_options = noanonymous
smtp_tls_security_level = encrypt${isTls ? '\nsmtp_tls_wrappermode = yes' : ''}`,
  }
}
