/** Mailers: the front door. Routes are mounted by compose. */
export type { MailerDeps } from './configure-smtp.ts'
export { hasRates } from './decide-permission.ts'
export {
  changeDomainSettings,
  type DomainSettings,
  deleteDomainMailer,
  insertDomainMailer,
  listDomainsOfRelay,
  type NewDomainMailer,
  noteRelayChanged,
  readDomainSettings,
  setDomainVerified,
} from './domain-store.ts'
export { ehloNameOf, qualifiedNameOf } from './ehlo-name.ts'
export { deleteOldErrors } from './error-store.ts'
export { findLate, LATE_AFTER_MS, type LateMailer, serverOf } from './find-late.ts'
export { findMailers, type NoMailer, noMailer, type WantedMailer } from './find-mailers.ts'
export { ImapError } from './imap/imap-error.ts'
export type { ImapSession } from './imap/imap-session.ts'
export {
  listMailboxes,
  loadMailbox,
  type Mailbox,
  type WatchedMailbox,
} from './imap/load-mailbox.ts'
export { type LoggedIn, type LogInDeps, logIn } from './imap/log-in.ts'
export type { MailboxHealth } from './imap/mailbox-health.ts'
export type { FolderBaseline, WatchedFolder } from './imap/mailbox-settings.ts'
export { examineFolder } from './imap/open-folder.ts'
export {
  loadMailerForSend,
  type MailerForSend,
  type RelayMailerForSend,
  type SmtpMailerForSend,
} from './load-mailer.ts'
export { printable } from './login-failure.ts'
export { defaultUncertain, isDomainMailer, type Mailer } from './mailer.ts'
export {
  createNoteDeactivated,
  type Deactivated,
  type NoteDeactivated,
} from './note-deactivated.ts'
export { type MailerError, noteErrors } from './note-errors.ts'
export { type AccessTokens, createAccessTokens } from './oauth/access-tokens.ts'
export { findSentMailer, type SentMailer } from './oauth/find-sent-mailer.ts'
export { findInactiveOf, observeMailers } from './observe-store.ts'
export { type OperatedMailer, operatedMailers } from './operated-mailers.ts'
export { createRelaySends, type RelaySends, type RelaySent } from './relay-sends.ts'
export { forgetReturnPath } from './return-path.ts'
export { type RejectedLogin, settleRejectedLogins } from './settle-rejected-logins.ts'
export type { Acquired, SmtpLease } from './smtp-line.ts'
export {
  type AcquireOptions,
  createSmtpPool,
  type SmtpPool,
  type SmtpPoolDeps,
} from './smtp-pool.ts'
export { findInactive, findReleased, type MailerKey } from './state-store.ts'
export { type FoundMailer, markWorked } from './store.ts'
export {
  offerPermission,
  type ReturnedPermission,
  returnPermissions,
  usePermission,
} from './take-permission.ts'
export { testMailer } from './test-mailer.ts'
export { type TracedLogin, traceLogin } from './trace-login.ts'
