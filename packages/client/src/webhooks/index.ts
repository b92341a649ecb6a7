export {
  createWebhookHandler,
  type WebhookContext,
  type WebhookHandler,
  type WebhookHandlerOptions,
} from './create-webhook-handler.ts'
export { dedupKey } from './dedup-key.ts'
export type {
  DomainVerification,
  EmailMessageEvent,
  EventName,
  EventOf,
  ImapError,
  IncomingEmail,
  KnownEvent,
  MailBounce,
  MailClicked,
  MailDelivered,
  MailerDeactivated,
  MailGenerationFailure,
  MailGenerationRejection,
  MailOpened,
  MailPolicyRejection,
  MailSpam,
  MailUnsubscribed,
  Phishing,
  ReceivedEvent,
  SmtpError,
  UnknownEvent,
} from './event-types.ts'
export { type ExampleRequestOptions, exampleEvent, exampleRequest } from './examples.ts'
export { isTerminal } from './is-terminal.ts'
export { parseWebhook } from './parse-webhook.ts'
export { type HeadersLike, verifyHeader } from './verify-header.ts'
export { exampleSignature, type VerifyOptions, verifyWebhook } from './verify-signature.ts'
export { WebhookError, type WebhookErrorCode } from './webhook-error.ts'
