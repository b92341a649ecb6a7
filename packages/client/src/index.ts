export type {
  ConfigureSmtpAnswer,
  ConfigureSmtpBody,
  DeleteSmtpConfigAnswer,
  DeleteWebhookAnswer,
  DeleteWebhookBody,
  DeliveredEvent,
  ErrorCode,
  FieldError,
  GetSmtpConfigAnswer,
  GetWebhookDeliveryAnswer,
  ListWebhookDeliveriesAnswer,
  ListWebhookDeliveriesQuery,
  ListWebhooksAnswer,
  Mailer,
  RedeliverAnswer,
  RegisterWebhookAnswer,
  RegisterWebhookBody,
  ReplayWebhookEventsAnswer,
  ReplayWebhookEventsBody,
  SendEmailAnswer,
  SendEmailBody,
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
export type { UpdateSmtpInput } from './resources/mailers.ts'
export type { UpdateWebhookInput } from './resources/webhooks.ts'
