export type {
  ConfigureSmtpAnswer,
  ConfigureSmtpBody,
  CreateOAuthAppAnswer,
  CreateOAuthAppBody,
  DeleteOAuthAppAnswer,
  DeleteSmtpConfigAnswer,
  DeleteSuppressionAnswer,
  DeleteWebhookAnswer,
  DeleteWebhookBody,
  DeliveredEvent,
  ErrorCode,
  FieldError,
  GetSmtpConfigAnswer,
  GetWebhookDeliveryAnswer,
  ListOAuthAppsAnswer,
  ListSuppressionsAnswer,
  ListSuppressionsQuery,
  ListWebhookDeliveriesAnswer,
  ListWebhookDeliveriesQuery,
  ListWebhooksAnswer,
  Mailer,
  OAuthApp,
  OAuthLoginAnswer,
  OAuthLoginBody,
  RedeliverAnswer,
  RegisterWebhookAnswer,
  RegisterWebhookBody,
  ReplayWebhookEventsAnswer,
  ReplayWebhookEventsBody,
  SendEmailAnswer,
  SendEmailBody,
  SetOAuthActiveAnswer,
  SubscribeEmailAnswer,
  Suppression,
  SuppressionReason,
  UnsubscribeEmailAnswer,
  UpdateOAuthAppAnswer,
  UpdateSmtpAnswer,
  UpdateWebhookAnswer,
  Webhook,
  WebhookAttempt,
  WebhookDelivery,
  WebhookDeliveryDetail,
  WebhookDeliveryStatus,
} from '@postrider/contract'
export { type ClientErrorCode, PostriderError, type PostriderErrorCode } from './core/errors.ts'
export type { RequestOptions } from './core/request.ts'
export { Postrider, type PostriderOptions } from './postrider.ts'
export type { SendEmailInput } from './resources/emails.ts'
export type { UpdateSmtpInput } from './resources/mailers.ts'
export type { SetOAuthActiveInput, UpdateOAuthAppInput } from './resources/oauth.ts'
export type {
  ListWebhookDeliveriesInput,
  ReplayWebhookEventsInput,
} from './resources/webhook-deliveries.ts'
export type { UpdateWebhookInput } from './resources/webhooks.ts'
