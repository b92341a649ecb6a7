/** The body of SendGrid's `POST /v3/mail/send`, by its OpenAPI document. */
import { ANY, BOOLEAN, INTEGER, listOf, mapOf, record, STRING } from './shapes.ts'

export interface SendGridMailbox {
  readonly email: string
  readonly name?: string
}
export interface SendGridAttachment {
  readonly content: string
  readonly filename: string
  readonly type?: string
  readonly disposition?: string
  readonly content_id?: string
}
export interface SendGridPersonalization {
  readonly from?: SendGridMailbox
  readonly to: readonly SendGridMailbox[]
  readonly cc?: readonly SendGridMailbox[]
  readonly bcc?: readonly SendGridMailbox[]
  readonly subject?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly substitutions?: Readonly<Record<string, string>>
  readonly custom_args?: Readonly<Record<string, string>>
  readonly send_at?: number
}
export interface SendGridMailBody {
  readonly personalizations: readonly SendGridPersonalization[]
  readonly from: SendGridMailbox
  readonly reply_to?: SendGridMailbox
  readonly reply_to_list?: readonly SendGridMailbox[]
  readonly subject?: string
  readonly content: readonly { readonly type: string; readonly value: string }[]
  readonly attachments?: readonly SendGridAttachment[]
  readonly headers?: Readonly<Record<string, string>>
  readonly categories?: readonly string[]
  readonly custom_args?: Readonly<Record<string, string>>
  readonly send_at?: number
  readonly ip_pool_name?: string
  readonly mail_settings?: { readonly sandbox_mode?: { readonly enable?: boolean } }
  readonly tracking_settings?: Readonly<Record<string, unknown>>
}

const mailbox = record({ email: STRING, name: STRING }, ['email'])
const setting = (more: Readonly<Record<string, typeof STRING | typeof BOOLEAN>> = {}) =>
  record({ enable: BOOLEAN, ...more })
const personalization = record(
  {
    from: mailbox,
    to: listOf(mailbox),
    cc: listOf(mailbox),
    bcc: listOf(mailbox),
    subject: STRING,
    headers: mapOf(STRING),
    substitutions: mapOf(STRING),
    dynamic_template_data: mapOf(ANY),
    custom_args: mapOf(STRING),
    send_at: INTEGER,
  },
  ['to'],
)
export const sendGridMailShape = record(
  {
    personalizations: listOf(personalization),
    from: mailbox,
    reply_to: mailbox,
    reply_to_list: listOf(mailbox),
    subject: STRING,
    content: listOf(record({ type: STRING, value: STRING }, ['type', 'value'])),
    attachments: listOf(
      record(
        {
          content: STRING,
          type: STRING,
          filename: STRING,
          disposition: STRING,
          content_id: STRING,
        },
        ['content', 'filename'],
      ),
    ),
    template_id: STRING,
    headers: mapOf(STRING),
    categories: listOf(STRING),
    custom_args: mapOf(STRING),
    send_at: INTEGER,
    batch_id: STRING,
    asm: record({ group_id: INTEGER, groups_to_display: listOf(INTEGER) }, ['group_id']),
    ip_pool_name: STRING,
    mail_settings: record({
      bypass_list_management: setting(),
      bypass_spam_management: setting(),
      bypass_bounce_management: setting(),
      bypass_unsubscribe_management: setting(),
      footer: setting({ text: STRING, html: STRING }),
      sandbox_mode: setting(),
    }),
    tracking_settings: record({
      click_tracking: setting({ enable_text: BOOLEAN }),
      open_tracking: setting({ substitution_tag: STRING }),
      subscription_tracking: setting({ text: STRING, html: STRING, substitution_tag: STRING }),
      ganalytics: setting({
        utm_source: STRING,
        utm_medium: STRING,
        utm_term: STRING,
        utm_content: STRING,
        utm_campaign: STRING,
      }),
    }),
  },
  ['personalizations', 'from', 'content'],
)
