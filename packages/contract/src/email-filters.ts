/**
 * What emails are filtered by, under the names of getEmailLogs (docs/reference/statuses.md#log-filters),
 * wherever they are filtered: in logs, their export, and rescues. What addresses, times and ids mean is
 * checked by the server.
 */
import { Type } from 'typebox'
import { refIdFilter, timeOrDate } from './common.ts'
import { emailLengthMax } from './mailers.ts'
import { campaignIdLengthMax, recipientTypes, subjectLengthMax } from './sending.ts'

export const failedReasonLengthMax = 1_000

export const emailFilters = {
  email: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: emailLengthMax,
      description: "The recipient's address, compared without case",
      examples: ['ada@example.com'],
    }),
  ),
  recipientDomain: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description: "The domain of the recipient's address",
      examples: ['example.com'],
    }),
  ),
  refId: Type.Optional(refIdFilter),
  startCreatedAt: Type.Optional(timeOrDate('Accepted at this time or later')),
  endCreatedAt: Type.Optional(timeOrDate('Accepted at this time or earlier')),
  subject: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: subjectLengthMax,
      description:
        'Contained in the subject of the email, without case. The subject that a recipient gets by `template_data` of its own is not compared',
    }),
  ),
  campaignId: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: campaignIdLengthMax,
      description: 'As it was given when the email was sent',
    }),
  ),
  mailerId: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 64,
      description: 'The mailer of the email, as logs show it. One that is unknown finds nothing',
      examples: ['smtp_01JD4M8W6ZQ3V5T7X9Y2A4C6E8'],
    }),
  ),
  failedReason: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: failedReasonLengthMax,
      description:
        'Why the mail waits for another attempt, failed or was stopped, as logs or groups of statistics show it: addresses and numbers in the words of a server are not compared, nor what follows the first 200 characters',
      examples: ['The recipient address does not exist'],
    }),
  ),
  test: Type.Optional(
    Type.Boolean({
      description: 'true: only mail that a key of test mode sent. false: none of it',
    }),
  ),
  recipientType: Type.Optional(
    Type.Enum([...recipientTypes], { description: 'How the email was addressed to the recipient' }),
  ),
}
