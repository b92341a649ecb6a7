export type {
  ConfigureSmtpAnswer,
  ConfigureSmtpBody,
  DeleteSmtpConfigAnswer,
  DeleteWebhookAnswer,
  DeleteWebhookBody,
  ErrorCode,
  FieldError,
  GetSmtpConfigAnswer,
  ListWebhooksAnswer,
  Mailer,
  RegisterWebhookAnswer,
  RegisterWebhookBody,
  SendEmailAnswer,
  SendEmailBody,
  UpdateSmtpAnswer,
  UpdateWebhookAnswer,
  Webhook,
} from '@postrider/contract'
export { type ClientErrorCode, PostriderError, type PostriderErrorCode } from './core/errors.ts'
export type { RequestOptions } from './core/request.ts'
export { Postrider, type PostriderOptions } from './postrider.ts'
export type { UpdateSmtpInput } from './resources/mailers.ts'
export type { UpdateWebhookInput } from './resources/webhooks.ts'
