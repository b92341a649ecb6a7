/**
 * Turns a mailbox's failure into what it means (docs/reference/inbound.md#mailboxes): the sentence that
 * `IMAP_ERROR` carries, and whether the server has rejected the mailer's login.
 *
 * A reply that nothing here knows is `unknown` and its own text is the reason.
 */
import { AUTH_RULES } from '../reply-table.ts'
import { readReply } from '../reply-text.ts'
import { categoryOfSystemError } from '../system-errors.ts'
import {
  IMAP_REFUSALS,
  type ImapFailure,
  type ImapFailureCategory,
  type ImapReply,
  imapFailedReasonOf,
} from './failure.ts'
import { LOGIN_RULES } from './login-rules.ts'

const PROVIDER_ERROR_CHARS_MAX = 4_096

export interface ImapClassification {
  readonly category: ImapFailureCategory
  /** Grounds for deactivating the mailer, once a second try has heard the same. */
  readonly authRejected: boolean
  /** A second try would only hear the same. */
  readonly cannotHealByWaiting: boolean
  /** The category's sentence; for `unknown` the raw text. */
  readonly failedReason: string
  /** The server's reply as received, else the system's error text; fit to be stored. */
  readonly providerError: string
}

export function classifyImapFailure(failure: ImapFailure): ImapClassification {
  const { reply } = failure
  const providerError = storable(reply?.text ?? failure.message ?? failure.systemCode ?? '')
  const { is, cannotHealByWaiting = false } =
    reply === undefined ? { is: categoryWithoutReply(failure) } : findRule(failure, reply)
  const isUnknown = is === 'unknown' && providerError !== ''
  return {
    category: is,
    authRejected: is === 'auth_rejected' && failure.stage === 'auth' && reply?.status === 'NO',
    cannotHealByWaiting,
    failedReason: isUnknown ? providerError : imapFailedReasonOf(is),
    providerError,
  }
}

interface Found {
  readonly is: ImapFailureCategory
  readonly cannotHealByWaiting?: boolean
}

function findRule({ stage }: ImapFailure, reply: ImapReply): Found {
  const { code = '', status } = reply
  // The code stands for itself, and is not among the words.
  const { words } = readReply({ code: 535, text: reply.text.replace(/^\w+ (\[[^\]]*\] ?)?/, '') })
  const rule = LOGIN_RULES.find(
    (one) =>
      (one.words === undefined || one.words.test(words)) &&
      (one.code === undefined || one.code.test(code)),
  )
  // Outside of a login its words mean the same but for a rejection.
  if (stage !== 'auth' || status === 'BYE')
    return rule === undefined || rule.is === 'auth_rejected'
      ? { is: status === 'BYE' ? 'temporary' : status === 'BAD' ? 'protocol_error' : 'unknown' }
      : { is: rule.is === 'auth_temporary' ? 'temporary' : rule.is }
  if (rule !== undefined) return status === 'NO' ? rule : withoutRejection(rule)
  if (status === 'BAD') return { is: 'protocol_error' }
  const known = AUTH_RULES.find((one) => one.code === undefined && one.words?.test(words))
  return known ?? { is: 'auth_rejected' }
}

/** BAD is about the command, whatever its words. */
function withoutRejection(rule: Found): Found {
  return rule.is === 'auth_rejected' ? { is: 'protocol_error' } : { is: rule.is }
}

const OWN: Readonly<Record<string, ImapFailureCategory>> = {
  [IMAP_REFUSALS.noTlsOffered]: 'tls_unavailable',
  [IMAP_REFUSALS.noGreeting]: 'no_greeting',
  [IMAP_REFUSALS.folderMissing]: 'folder_missing',
  [IMAP_REFUSALS.unnumbered]: 'unnumbered',
  [IMAP_REFUSALS.tooMuch]: 'too_much',
  [IMAP_REFUSALS.internal]: 'internal',
}

function categoryWithoutReply({ stage, systemCode, message }: ImapFailure): ImapFailureCategory {
  const own = systemCode === undefined ? undefined : OWN[systemCode]
  if (own !== undefined) return own
  return categoryOfSystemError({
    ...(stage === 'starttls' || stage === 'connect' ? { stage } : {}),
    ...(systemCode === undefined ? {} : { systemCode }),
    ...(message === undefined ? {} : { message }),
  })
}

/** Fit for a PostgreSQL text column and for JSON. */
function storable(text: string): string {
  return text.slice(0, PROVIDER_ERROR_CHARS_MAX).toWellFormed().replaceAll('\u0000', '\ufffd')
}
