/**
 * Names of shapes in the OpenAPI description. An exported object has the name that it is exported by
 * (`mailer` is `Mailer`); here stand other names, lists of words that have one, and shapes that are
 * another one with more fields.
 */

import { eventNames, webhookDeliveryStatuses } from './deliveries.ts'
import { domainStates, recordStatuses } from './domains.ts'
import { errorCodes } from './errors.ts'
import { mailerConfigTypes, webhookEvents } from './events.ts'
import { connectionTypes, mailerStates, secureModes, uncertainPolicies } from './mailers.ts'
import { oauthProviders } from './oauth.ts'
import { memberRoles } from './people.ts'
import { relayKinds } from './relays.ts'
import { recipientStatuses, recipientTypes } from './sending.ts'
import { suppressionFormats, suppressionReasons } from './suppressions.ts'
import { apiKeyScopes } from './tenants.ts'
import { webhookStates } from './webhooks.ts'

/** By the name of the export. */
export const componentNames: Readonly<Record<string, string>> = {
  plainAnswer: 'PlainAnswer',
  errorBody: 'Error',
  emailAddress: 'Address',
  emailContent: 'Content',
  emailAttachment: 'Attachment',
  acceptedRecipient: 'Recipient',
}

/** Of shapes that do not say themselves what they are. */
export const componentDescriptions: Readonly<Record<string, string>> = {
  AcceptedMessage: 'A message of a batch that was accepted',
  Address: 'An address with its display name',
  ApiKey: 'A key of the API, without its secret',
  Attachment: 'A file that goes with the message',
  BatchMessageBody: 'An email of a batch',
  Content: 'A part of the message',
  DeliveredEvent: 'An event of a delivery',
  Domain: 'A sending domain',
  DomainMailer: 'A sending domain as a mailer: it sends for every address of its domain',
  DomainRecord: 'A DNS record to publish',
  EmailLog: 'What became of one recipient of one email',
  FieldError: 'A field that is not as it should be',
  ImapConfigChange: 'What changes; the rest stays',
  InboundDomain: 'A domain whose mail is received',
  InboundMessage: 'What became of a received message',
  InboundRecord: 'A DNS record to publish',
  InboundUsername: 'A route of its own for one local part',
  IncomingAddress: 'An address as the message has it',
  IncomingAttachment: 'A file that came with the message',
  IncomingEmail: 'A mail was received, by a route or in a mailbox',
  ListedDomainMailer: 'A sending domain with its last errors',
  ListedMailer: 'A mailer with its last errors',
  ListedTenant: 'An account of the service',
  Mailer: 'A mailer of SMTP, of IMAP or of both',
  PlainAnswer: 'It was done; there is nothing more to tell',
  PhishingSettings: 'Settings of phishing protection',
  Recipient: 'A recipient, and where it stands',
  RefusedMessage: 'A message of a batch that was not accepted, and why',
  RefusedLine: 'A line of a file that was passed over',
  SendSettings: 'How it is sent, and what is told of it',
  SmtpConfigChange: 'What changes; the rest stays',
  StatisticRates: 'Shares, and opens and clicks for each delivery',
  Statistics: 'What happened, by intervals and mailers',
  Suppression: 'An address that is not sent to',
  SuppressionSource: 'What gave the reason',
  Tenant: 'An account of the service, with its usage',
  TestDelivery: 'A test event, and what its receiver answered',
  TracedAttempt: 'An attempt to send to a recipient',
  TracedDelivery: 'A webhook delivery that carried an event of the email',
  TracedEmail: 'An email with all that became of it',
  TracedEvent: 'An event of the email',
  TracedHit: 'What a recipient did, or a program in its place',
  TracedRecipient: 'A recipient of the email, with all that happened',
  TracedReport: 'What was reported of a recipient after the email was handed over',
  Webhook: 'A webhook',
  WebhookAttempt: 'A request of a delivery',
  WebhookDelivery: 'Events that are delivered together',
  WebhookDeliveryDetail: 'A delivery with what was sent',
  WebhookStatus: 'Where a webhook stands, and what waits for it',
}

interface WordList {
  readonly enum: readonly string[]
  readonly description: string
}

export const wordLists: Readonly<Record<string, WordList>> = {
  ApiKeyScope: { enum: apiKeyScopes, description: 'What an API key may do' },
  ConnectionType: {
    enum: connectionTypes,
    description: 'How it logs in: with a password, or by an OAuth app',
  },
  DomainState: { enum: domainStates, description: 'Where a sending domain stands' },
  ErrorCode: { enum: errorCodes, description: 'What went wrong, for a program' },
  EventName: { enum: eventNames, description: 'Name of an event' },
  MailerConfigType: { enum: mailerConfigTypes, description: 'Kind of a mailer' },
  MemberRole: { enum: memberRoles, description: 'What a person may do in one tenant' },
  MailerState: {
    enum: mailerStates,
    description:
      '`active`; `deactivated` by the service, until it logs in again; `disabled` by a person',
  },
  OAuthProvider: {
    enum: oauthProviders,
    description: 'Whose logins an OAuth app is for; `custom` names its own addresses',
  },
  RecipientStatus: {
    enum: recipientStatuses,
    description: 'Where a recipient stands; opens, clicks and the like are facts beside it',
  },
  RecipientType: {
    enum: recipientTypes,
    description: 'Which field of the message names the recipient; `bcc`: none',
  },
  RecordStatus: { enum: recordStatuses, description: 'What DNS said of a record' },
  RelayKind: { enum: relayKinds, description: 'Kind of a relay provider' },
  SecureMode: {
    enum: secureModes,
    description:
      '`SSL`: implicit TLS. `Tls`: STARTTLS is required. `Auto`: implicit TLS on its usual port, else STARTTLS where offered. `None`: plain text',
  },
  SuppressionFormat: {
    enum: suppressionFormats,
    description: 'Whose export a file of suppressions is',
  },
  SuppressionReason: { enum: suppressionReasons, description: 'Why an address is not sent to' },
  UncertainPolicy: {
    enum: uncertainPolicies,
    description: 'Whether a mail that may have been delivered is sent again',
  },
  WebhookDeliveryStatus: { enum: webhookDeliveryStatuses, description: 'Where a delivery stands' },
  WebhookEvent: { enum: webhookEvents, description: 'Event type of a webhook' },
  WebhookState: { enum: webhookStates, description: 'Where a webhook stands' },
}

/** Each has every field of the one beside it. */
export const extendedComponents: Readonly<Record<string, string>> = {
  ListedMailer: 'Mailer',
  ListedDomainMailer: 'DomainMailer',
  Template: 'ListedTemplate',
  Tenant: 'ListedTenant',
  WebhookDeliveryDetail: 'WebhookDelivery',
  MailBounceDetails: 'MessageDetails',
  SmtpErrorDetails: 'MessageDetails',
}
