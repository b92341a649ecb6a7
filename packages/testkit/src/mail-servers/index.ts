/** Real mail servers for tests, apart from the front door: they are programs of other people. */
export { createDovecot, type Dovecot, type DovecotOptions, dovecotHindrance } from './dovecot.ts'
export { createExim, eximHindrance } from './exim.ts'
export type { MailServer, MailServerOptions } from './mail-server.ts'
export { createOpenSmtpd, openSmtpdHindrance } from './opensmtpd.ts'
export { createPostfix, type Postfix, postfixHindrance, sizeMax } from './postfix.ts'
export { createRspamdServer, type RspamdServer, rspamdHindrance } from './rspamd.ts'
