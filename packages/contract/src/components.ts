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
import { relayKinds } from './relays.ts'
import { recipientStatuses, recipientTypes } from './sending.ts'
import { suppressionReasons } from './suppressions.ts'
import { apiKeyScopes } from './tenants.ts'

/** By the name of the export. */
export const componentNames: Readonly<Record<string, string>> = {
  plainAnswer: 'PlainAnswer',
  errorBody: 'Error',
  emailAddress: 'Address',
  emailContent: 'Content',
  emailAttachment: 'Attachment',
  acceptedRecipient: 'Recipient',
}

export const wordLists: Readonly<Record<string, readonly string[]>> = {
  ApiKeyScope: apiKeyScopes,
  ConnectionType: connectionTypes,
  DomainState: domainStates,
  ErrorCode: errorCodes,
  EventName: eventNames,
  MailerConfigType: mailerConfigTypes,
  MailerState: mailerStates,
  OAuthProvider: oauthProviders,
  RecipientStatus: recipientStatuses,
  RecipientType: recipientTypes,
  RecordStatus: recordStatuses,
  RelayKind: relayKinds,
  SecureMode: secureModes,
  SuppressionReason: suppressionReasons,
  UncertainPolicy: uncertainPolicies,
  WebhookDeliveryStatus: webhookDeliveryStatuses,
  WebhookEvent: webhookEvents,
}

/** Each has every field of the one beside it. */
export const extendedComponents: Readonly<Record<string, string>> = {
  ListedMailer: 'Mailer',
  ListedDomainMailer: 'DomainMailer',
  WebhookDeliveryDetail: 'WebhookDelivery',
  MailBounceDetails: 'MessageDetails',
  SmtpErrorDetails: 'MessageDetails',
}
