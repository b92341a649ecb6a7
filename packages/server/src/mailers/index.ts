/** Mailers: the front door. Routes are mounted by `create.ts`. */

export {
  findMailers,
  inactiveMailer,
  type NoMailer,
  noMailer,
  type WantedMailer,
} from './find-mailers.ts'
export {
  listMailboxes,
  loadMailbox,
  type Mailbox,
  type WatchedMailbox,
} from './imap/load-mailbox.ts'
export type { MailboxHealth } from './imap/mailbox-health.ts'
export type { FolderBaseline, WatchedFolder } from './imap/mailbox-settings.ts'
export { ImapError } from './imap/session/imap-error.ts'
export type { ImapSession } from './imap/session/imap-session.ts'
export { type LoggedIn, type LogInDeps, logIn } from './imap/session/log-in.ts'
export { examineFolder } from './imap/session/open-folder.ts'
export {
  offerPermission,
  type ReturnedPermission,
  returnPermissions,
  usePermission,
} from './limits/acquire-rate-limit.ts'
export { hasRates } from './limits/decide-permission.ts'
export { findLate, LATE_AFTER_MS, type LateMailer, serverOf } from './limits/find-late.ts'
export { observeLimits } from './limits/observe-limits.ts'
export {
  loadMailerForSend,
  type MailerForSend,
  type RelayMailerForSend,
  type SmtpMailerForSend,
} from './load-mailer.ts'
export { defaultUncertain, isDomainMailer, type Mailer, passwordPlaceOf } from './mailer.ts'
export { clientSecretPlaceOf } from './oauth/apps/oauth-app.ts'
export { findSentMailer, type SentMailer } from './oauth/find-sent-mailer.ts'
export { loginPlaceOf } from './oauth/login/start-login.ts'
export { type AccessTokens, createAccessTokens } from './oauth/tokens/access-tokens.ts'
export { tokenPlaceOf } from './oauth/tokens/mailer-token.ts'
export { searchMailers, searchMailersOf, searchMailersOfDomain } from './search-store.ts'
export { createRelaySends, type RelaySends, type RelaySent } from './send-by-relay.ts'
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
} from './sending-domain-store.ts'
export type { MailerDeps } from './smtp/configure-smtp.ts'
export type { Acquired, SmtpLease } from './smtp/connection-pool.ts'
export { ehloNameOf, qualifiedNameOf } from './smtp/ehlo-name.ts'
export { printable } from './smtp/login-failure.ts'
export { forgetReturnPath } from './smtp/return-path.ts'
export {
  type AcquireOptions,
  createSmtpPool,
  type SmtpPool,
  type SmtpPoolDeps,
} from './smtp/smtp-pool.ts'
export { deleteOldErrors, type ListedError, listErrors } from './state/error-store.ts'
export {
  createNoteDeactivated,
  type Deactivated,
  type NoteDeactivated,
} from './state/log-deactivation.ts'
export { type MailerError, noteErrors } from './state/note-errors.ts'
export { findDeactivated, findHeldOf, observeMailers } from './state/observe-store.ts'
export { type OperatedMailer, operatedMailers } from './state/operated-mailers.ts'
export { type RejectedLogin, settleRejectedLogins } from './state/settle-rejected-logins.ts'
export { findInactive, findReleased, type MailerKey } from './state/state-store.ts'
export { type FoundMailer, listMailers, markWorked } from './store.ts'
export { type TracedLogin, traceLogin } from './try/trace-login.ts'
export { trySmtp } from './try/try-smtp.ts'
