/** What operations take, where it is more than the body or query of the contract. */
import type {
  CreateInboundUsernameBody,
  ExportEmailLogsQuery,
  GetEmailLogsQuery,
  GetStatisticsQuery,
  ListWebhookDeliveriesQuery,
  RelayBodies,
  RelayKind,
  ReplayWebhookEventsBody,
  RescueEmailsBody,
  RescueFilter,
  SendEmailBody,
  SetOAuthActiveBody,
  UpdateImapBody,
  UpdateOAuthAppBody,
  UpdateSmtpBody,
  UpdateWebhookBody,
} from '@postrider/contract'
import type { WithTimes } from './core/times.ts'

export type SendEmailInput = WithTimes<SendEmailBody, 'send_at'>
export type RescueEmailsInput = Omit<RescueEmailsBody, 'filter'> & {
  readonly filter?: WithTimes<RescueFilter, 'startCreatedAt' | 'endCreatedAt'> | undefined
}
export type GetEmailLogsInput = WithTimes<
  GetEmailLogsQuery,
  'startCreatedAt' | 'endCreatedAt' | 'startDeliveredDate' | 'endDeliveredDate'
>
export type ExportEmailLogsInput = WithTimes<
  ExportEmailLogsQuery,
  'startCreatedAt' | 'endCreatedAt' | 'startDeliveredDate' | 'endDeliveredDate'
>
export type GetStatisticsInput = WithTimes<GetStatisticsQuery, 'start' | 'end'>
export type ListWebhookDeliveriesInput = WithTimes<ListWebhookDeliveriesQuery, 'start' | 'end'>
export type ReplayWebhookEventsInput = WithTimes<ReplayWebhookEventsBody, 'start' | 'end'>

/** `event` is optional in this type only: the service refuses an update without it. */
export type UpdateWebhookInput = Partial<UpdateWebhookBody>
export type UpdateSmtpInput = Omit<UpdateSmtpBody, 'mailer_id'> & { readonly mailer_id: string }
export type UpdateImapInput = Omit<UpdateImapBody, 'mailer_id'> & { readonly mailer_id: string }
export type UpdateOAuthAppInput = UpdateOAuthAppBody & { readonly app_id: string }
export type SetOAuthActiveInput = SetOAuthActiveBody & { readonly mailer_id: string }

/** Each kind with what it takes. */
export type ConfigureRelayInput = {
  [Kind in RelayKind]: RelayBodies[Kind] & { readonly kind: Kind }
}[RelayKind]

/** `domain` names it. */
export type CreateInboundUsernameInput = CreateInboundUsernameBody & { readonly domain: string }
