/**
 * Everything that a receiver can be sent, told apart by `event` (docs/reference/events.md#fields).
 *
 * `ReceivedEvent` is a union that a `switch` over `event` narrows. It is not closed: a later
 * service may have further events, which are `UnknownEvent`. Its name is any string; to the
 * compiler it is one that no event will ever have, so that a `case` of a known name narrows to that
 * event alone, and what is left in `default` after all of them is `UnknownEvent`. With `string`
 * every `case` would leave both.
 */
import type {
  IncomingEmail as ContractIncomingEmail,
  MailerDeactivated as ContractMailerDeactivated,
  DomainVerification,
  ImapError,
  MailBounce,
  MailClicked,
  MailDelivered,
  MailGenerationFailure,
  MailGenerationRejection,
  MailOpened,
  MailPolicyRejection,
  MailSpam,
  MailUnsubscribed,
  Phishing,
  SmtpError,
} from '@postrider/contract'

export type {
  DomainVerification,
  ImapError,
  MailBounce,
  MailClicked,
  MailDelivered,
  MailGenerationFailure,
  MailGenerationRejection,
  MailOpened,
  MailPolicyRejection,
  MailSpam,
  MailUnsubscribed,
  Phishing,
  SmtpError,
}

type Details<E extends { details: unknown }> = E['details']

/** The names that are known, and those that a later service may add. */
type Open<Name extends string> = Name | (string & {})

/**
 * Its transports and reasons are an open list (docs/reference/events.md#mailer-deactivated).
 */
export type MailerDeactivated = Omit<ContractMailerDeactivated, 'details'> & {
  details: Omit<Details<ContractMailerDeactivated>, 'config_type' | 'failed_reason'> & {
    config_type: Open<Details<ContractMailerDeactivated>['config_type']>
    failed_reason: Open<Details<ContractMailerDeactivated>['failed_reason']>
  }
}

/** Of a mailbox, or of a route by SMTP. */
export type IncomingEmail = Omit<ContractIncomingEmail, 'details'> & {
  details: Omit<Details<ContractIncomingEmail>, 'mailer_id' | 'domain' | 'username'> &
    (
      | {
          /** The mailbox. */
          mailer_id: string
        }
      | {
          /** The inbound domain. */
          domain: string
          /** The username, else the recipient's local part. */
          username: string
        }
    )
}

/** Events of one recipient of one email: all that have a `ref_id`. */
export type EmailMessageEvent =
  | MailDelivered
  | MailOpened
  | MailClicked
  | MailUnsubscribed
  | MailBounce
  | MailSpam
  | MailPolicyRejection
  | MailGenerationFailure
  | MailGenerationRejection
  | SmtpError
  | Phishing

export type KnownEvent =
  | EmailMessageEvent
  | MailerDeactivated
  | DomainVerification
  | ImapError
  | IncomingEmail

export type EventName = KnownEvent['event']

/** The event of that name. */
export type EventOf<Name extends EventName> = Extract<KnownEvent, { event: Name }>

/**
 * An event that this version of the library does not know. To compare its name, take it as a
 * string first: `const name: string = event.event`.
 */
export interface UnknownEvent {
  event: `${string}?`
  success?: boolean
  details: Record<string, unknown>
}

export type ReceivedEvent = KnownEvent | UnknownEvent
