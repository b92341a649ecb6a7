/**
 * Bodies and answers of alerts (docs/reference/alerts.md): where somebody is told that something goes wrong,
 * and that it is over.
 */
import { type Static, Type } from 'typebox'
import { answer, closedObject, plainAnswer, timestamp, timestampOrNull } from './common.ts'
import { webhookUrl } from './webhooks.ts'

export const alertKinds = [
  'mailer_deactivated',
  'mailer_failing',
  'webhook_failing',
  'queue_late',
  'bounce_rate',
  'complaint_rate',
  'quota_near',
  'domain_invalid',
  'disk_full',
] as const
export type AlertKind = (typeof alertKinds)[number]

/** When a rate or a quota begins to be told, as a share; it is over below nine tenths of that. */
export const bounceRateMax = 0.05
export const bounceRateOfMin = 100
export const complaintRateMax = 0.001
export const complaintRateOfMin = 1_000
export const quotaNearShare = 0.8
/** Of one receiver. Of more, the oldest are given up. */
export const alertsWaitingMax = 1_000

const kind = Type.Enum([...alertKinds])
const kinds = (description: string) =>
  Type.Array(kind, { minItems: 1, maxItems: alertKinds.length, uniqueItems: true, description })

export const setAlertsBody = closedObject({
  url: webhookUrl,
  kinds: Type.Optional(
    kinds('Which are told; all when left out. `disk_full` is told to the operator alone'),
  ),
})
export type SetAlertsBody = Static<typeof setAlertsBody>

export const alertForms = ['json', 'slack'] as const

export const alerts = closedObject(
  {
    url: Type.String({
      description:
        'Where alerts go. Of a Slack URL, which is a secret, the last part is shown as `…`',
    }),
    form: Type.Enum([...alertForms], {
      description:
        '`slack` when the host is `hooks.slack.com` or `hooks.slack-gov.com`, else `json`',
    }),
    kinds: kinds('Which are told'),
    waiting: Type.Integer({
      minimum: 0,
      description: 'Alerts that the receiver has not accepted yet',
    }),
    last_ok_at: timestampOrNull('When it accepted an alert last'),
    last_error: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      description: 'Why it did not accept the last one; null: it did, or none was sent',
    }),
    created_at: timestamp('When it was set first'),
    updated_at: timestamp('When it was last set'),
  },
  { description: 'Where alerts go' },
)
export type Alerts = Static<typeof alerts>

/** What is sent, in the form `json`. */
export interface Alert {
  readonly alert: AlertKind
  readonly state: 'begun' | 'over'
  readonly subject: string
  readonly at: string
  readonly details: Readonly<Record<string, unknown>>
}

const alertsOrNull = Type.Union([alerts, Type.Null()], { description: 'null: none are sent' })

export const setAlertsAnswer = answer({ alerts })
export type SetAlertsAnswer = Static<typeof setAlertsAnswer>

export const getAlertsAnswer = answer({ alerts: alertsOrNull })
export type GetAlertsAnswer = Static<typeof getAlertsAnswer>

export const deleteAlertsAnswer = plainAnswer
export type DeleteAlertsAnswer = Static<typeof deleteAlertsAnswer>

export const setOperatorAlertsAnswer = answer({ alerts })
export type SetOperatorAlertsAnswer = Static<typeof setOperatorAlertsAnswer>

export const getOperatorAlertsAnswer = answer({ alerts: alertsOrNull })
export type GetOperatorAlertsAnswer = Static<typeof getOperatorAlertsAnswer>

export const deleteOperatorAlertsAnswer = plainAnswer
export type DeleteOperatorAlertsAnswer = Static<typeof deleteOperatorAlertsAnswer>
