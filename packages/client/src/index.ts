export type * from '@postrider/contract'
export type { AnswerPromise, WithResponse } from './core/answer-promise.ts'
export { type ClientErrorCode, PostriderError, type PostriderErrorCode } from './core/errors.ts'
export type { EventGap, StreamedEvent } from './core/event-stream.ts'
export type { PostriderOptions, RequestOptions } from './core/options.ts'
export type { PagedList } from './core/pages.ts'
export type {
  AddSuppressionInput,
  CancelEmailsInput,
  ConfigureImapInput,
  ConfigureRelayInput,
  ConfigureSmtpInput,
  CreateApiKeyInput,
  CreateInboundUsernameInput,
  CreateKeyInput,
  ExportEmailLogsInput,
  GetEmailLogsInput,
  GetOverviewInput,
  GetStatisticsInput,
  ListAuditInput,
  ListEventsInput,
  ListWebhookDeliveriesInput,
  PreviewTemplateInput,
  ReplayWebhookEventsInput,
  RescueEmailsInput,
  RetryEmailsInput,
  SendBatchInput,
  SendEmailInput,
  SendTestEventInput,
  SetMailerActiveInput,
  SetOAuthActiveInput,
  StreamEventsOptions,
  TestMailerInput,
  UpdateImapInput,
  UpdateMemberInput,
  UpdateOAuthAppInput,
  UpdateSmtpInput,
  UpdateTemplateInput,
  UpdateUserInput,
  UpdateWebhookInput,
  UploadInput,
} from './inputs.ts'
export { Postrider } from './postrider.ts'
