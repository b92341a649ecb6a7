/**
 * What refusals of LOGIN and AUTHENTICATE mean: data, read from the top, the first match wins.
 *
 * Texts that speak of a moment come first, because the code before them does not: Gmail answers the
 * sixteenth connection of an account, and a server without its directory everybody, as they would
 * answer a wrong password. What is left is decided by the response code (RFC 5530), then by what SMTP
 * servers say in the same place (reply-table.ts), and else is a rejected login.
 */
import type { FailureCategory } from '../failure-category.ts'

export interface LoginRule {
  readonly is: FailureCategory
  readonly words?: RegExp
  readonly code?: RegExp
  readonly cannotHealByWaiting?: true
}

export const LOGIN_RULES: readonly LoginRule[] = [
  {
    is: 'sender_concurrency_limited',
    words:
      /(too many|maximum number of|maximum) (\w+ ){0,2}(connection|session)s|(connection|session)s? (limit|count)|(simultaneous|concurrent) (connection|login|session)/,
  },
  {
    is: 'auth_throttled',
    words:
      /throttl|bandwidth limit|rate ?limit|too many (\w+ ){0,3}(login|auth|attempt|fail|request|command)|frequency|temporarily (locked|blocked)|exceeded .{0,30}(attempt|limit|bandwidth)/,
  },
  // "User is authenticated but not connected": the server in front has let in, the one behind has not.
  {
    is: 'auth_temporary',
    words:
      /temporar|try (it )?again|try later|(?<!account |mailbox )un?available|unreachable|internal (\w+ ){0,2}(error|failure)|server (\w+ ){0,2}(error|bug|failure)|system (error|is busy)|busy|timed? ?out|backend|maintenance|but not connected|service not|connection (lost|refused)/,
  },
  { is: 'auth_temporary', code: /^(UNAVAILABLE|INUSE|SERVERBUG|CLIENTBUG)$/ },
  { is: 'sender_concurrency_limited', code: /^LIMIT$/ },
  {
    is: 'tls_required',
    words:
      /starttls|(tls|ssl|encrypt\w*) (is )?(required|first)|plain ?text auth\w* (\w+ )?disallowed/,
  },
  { is: 'tls_required', code: /^PRIVACYREQUIRED$/ },
  // Their owner has to do something at the provider's, as often as it is tried.
  {
    is: 'auth_rejected',
    words:
      /app(lication)?[- ]?(specific )?password|web ?login|web browser|authori[sz]ation code|not enabled for imap|imap (access |use )?is (disabled|not)|basic auth\w* is (disabled|blocked)|password (has )?expired/,
    cannotHealByWaiting: true,
  },
  { is: 'auth_rejected', code: /^(WEBALERT|EXPIRED)$/, cannotHealByWaiting: true },
  { is: 'auth_rejected', code: /^(AUTHENTICATIONFAILED|AUTHORIZATIONFAILED|CONTACTADMIN|NOPERM)$/ },
]
