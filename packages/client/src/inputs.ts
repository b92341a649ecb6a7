/** What operations take, where it is more than the body or query of the contract. */
import type {
  AddSuppressionBody,
  BatchMessageBody,
  CancelEmailsBody,
  ConfigureImapBody,
  ConfigureRelayBody,
  ConfigureSmtpBody,
  CreateApiKeyBody,
  CreateInboundUsernameBody,
  CreateKeyBody,
  ExportEmailLogsQuery,
  GetEmailLogsQuery,
  GetOverviewQuery,
  GetStatisticsQuery,
  ImapConfig,
  ListAuditQuery,
  ListEventsQuery,
  ListWebhookDeliveriesQuery,
  PreviewTemplateBody,
  RelayKind,
  ReplayWebhookEventsBody,
  RescueEmailsBody,
  RetryEmailsBody,
  SendBatchBody,
  SendEmailBody,
  SendTestEventBody,
  SetMailerActiveBody,
  SetOAuthActiveBody,
  SmtpConfig,
  TestMailerBody,
  UpdateImapBody,
  UpdateMemberBody,
  UpdateOAuthAppBody,
  UpdateSmtpBody,
  UpdateTemplateBody,
  UpdateUserBody,
  UpdateWebhookBody,
} from '@postrider/contract'
import type { RequestOptions } from './core/options.ts'
import type { Upload } from './core/request.ts'
import type { WithTimes } from './core/times.ts'

/** An email needs a subject and content, or a stored template. */
type WithWording<Body extends SendEmailBody> = WithTimes<Body, 'send_at'> &
  (Required<Pick<SendEmailBody, 'subject' | 'content'>> | { readonly template_id: string })
export type SendEmailInput = WithWording<SendEmailBody>
export type SendBatchInput = Omit<SendBatchBody, 'messages'> & {
  readonly messages: readonly WithWording<BatchMessageBody>[]
}
type Filtered = {
  filter?: { startCreatedAt?: string | undefined; endCreatedAt?: string | undefined } | undefined
}
type WithFilterTimes<Body extends Filtered> = Omit<Body, 'filter'> & {
  readonly filter?:
    | WithTimes<NonNullable<Body['filter']>, 'startCreatedAt' | 'endCreatedAt'>
    | undefined
}
export type RescueEmailsInput = WithFilterTimes<RescueEmailsBody>
export type RetryEmailsInput = WithFilterTimes<RetryEmailsBody>
export type CancelEmailsInput = WithFilterTimes<CancelEmailsBody>
export type AddSuppressionInput = WithTimes<AddSuppressionBody, 'expires_at'>
export type CreateApiKeyInput = WithTimes<CreateApiKeyBody, 'expires_at'>
export type CreateKeyInput = WithTimes<CreateKeyBody, 'expires_at'>
export type GetEmailLogsInput = WithTimes<
  GetEmailLogsQuery,
  'startCreatedAt' | 'endCreatedAt' | 'startDeliveredDate' | 'endDeliveredDate'
>
export type ExportEmailLogsInput = WithTimes<
  ExportEmailLogsQuery,
  'startCreatedAt' | 'endCreatedAt' | 'startDeliveredDate' | 'endDeliveredDate'
>
export type GetOverviewInput = WithTimes<GetOverviewQuery, 'start' | 'end'>
export type GetStatisticsInput = WithTimes<GetStatisticsQuery, 'start' | 'end'>
export type ListAuditInput = WithTimes<ListAuditQuery, 'start' | 'end'>
export type ListEventsInput = WithTimes<ListEventsQuery, 'start' | 'end'>
export interface StreamEventsOptions extends RequestOptions {
  /** The `event_id` behind which the stream begins; without it, with what is committed from now on. */
  readonly lastEventId?: string | undefined
}
export type ListWebhookDeliveriesInput = WithTimes<ListWebhookDeliveriesQuery, 'start' | 'end'>
export type ReplayWebhookEventsInput = WithTimes<ReplayWebhookEventsBody, 'start' | 'end'>

/** A file: its text, its bytes, or a `Blob` such as `await openAsBlob(path)` of `node:fs`. */
export type UploadInput = Upload

/** `event` is optional in this type only: the service refuses an update without it. */
export type UpdateWebhookInput = Partial<UpdateWebhookBody>
/** A shape of all kinds, as one of them requires it. */
type Requiring<Shape, Name extends keyof Shape> = Omit<Shape, Name> & {
  [N in Name]-?: NonNullable<Shape[N]>
}
type Without<Body> = Omit<Body, 'connection_type' | 'config'>
type Grant = 'app_id' | 'refresh_token'

export type ConfigureSmtpInput = Without<ConfigureSmtpBody> &
  (
    | {
        connection_type: 'basic'
        config: Requiring<Omit<SmtpConfig, Grant>, 'host' | 'port' | 'secure'>
      }
    | {
        connection_type: 'oauth'
        config: Requiring<Omit<SmtpConfig, 'username' | 'password'>, Grant>
      }
  )
export type ConfigureImapInput = Without<ConfigureImapBody> &
  (
    | {
        connection_type: 'basic'
        config: Requiring<
          Omit<ImapConfig, Grant>,
          'host' | 'port' | 'username' | 'password' | 'secure'
        >
      }
    | {
        connection_type: 'oauth'
        config: Requiring<Omit<ImapConfig, 'username' | 'password'>, Grant>
      }
  )
export type UpdateSmtpInput = Omit<UpdateSmtpBody, 'mailer_id'> & { readonly mailer_id: string }
export type UpdateImapInput = Omit<UpdateImapBody, 'mailer_id'> & { readonly mailer_id: string }
export type UpdateOAuthAppInput = UpdateOAuthAppBody & { readonly app_id: string }
export type UpdateTemplateInput = UpdateTemplateBody & { readonly template_id: string }
export type PreviewTemplateInput = PreviewTemplateBody & { readonly template_id: string }
export type SendTestEventInput = SendTestEventBody & { readonly webhook_id: string }
export type UpdateMemberInput = UpdateMemberBody & { readonly user_id: string }
export type UpdateUserInput = UpdateUserBody & { readonly user_id: string }
export type TestMailerInput = TestMailerBody & { readonly mailer_id: string }
export type SetMailerActiveInput = SetMailerActiveBody & { readonly mailer_id: string }
export type SetOAuthActiveInput = SetOAuthActiveBody & { readonly mailer_id: string }

/** What each kind takes. */
interface RelayBodies {
  sparkpost: Pick<ConfigureRelayBody, 'api_key' | 'api_base' | 'callback_secret'>
  sendgrid: Pick<ConfigureRelayBody, 'api_key' | 'api_base' | 'verification_key'>
  simulator: Record<never, never>
}
export type ConfigureRelayInput = {
  [Kind in RelayKind]: RelayBodies[Kind] & { readonly kind: Kind }
}[RelayKind]

/** `domain` names it. */
export type CreateInboundUsernameInput = CreateInboundUsernameBody & { readonly domain: string }
