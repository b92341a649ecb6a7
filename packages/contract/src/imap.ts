/**
 * Bodies and answers of IMAP mailers (docs/reference/inbound.md#mailboxes).
 *
 * `basic_imap` is a synonym of `imap` in requests; answers and events say `imap`, or `oauth_imap`.
 */
import { type Static, Type } from 'typebox'
import { answer, changes, closedObject, orNull, plainAnswer } from './common.ts'
import {
  allowDuplicate,
  allowDuplicateChange,
  connectionTypes,
  credentialLengthMax,
  emailLengthMax,
  hostLengthMax,
  mailer,
  mailerName,
  secureModes,
  verifyChange,
} from './mailers.ts'
import {
  signingChange,
  signingSecret,
  signingWanted,
  webhookHeaders,
  webhookMethod,
  webhookUrl,
} from './webhooks.ts'

export const imapConfigTypes = ['imap', 'basic_imap'] as const

/** Of one mailbox. */
export const imapFoldersMax = 20
export const imapFolderLengthMax = 255

const email = Type.String({
  minLength: 1,
  maxLength: emailLengthMax,
  description: 'Address of the mailbox; with `oauth` also the name that it logs in by',
  examples: ['support@example.com'],
})

const mailerId = Type.String({
  maxLength: 64,
  description: 'Identifier of the mailer',
  examples: ['imap_01JD4M8W6ZQ3V5T7X9Y2A4C6E8'],
})

const credential = (description: string) =>
  Type.String({
    minLength: 1,
    maxLength: credentialLengthMax,
    description,
  })

const tlsVerify = Type.Boolean({
  description:
    "false: the server's certificate is not verified; true when left out of a new mailer",
})

/** Of both connection types in one shape, as in mailers.ts. */
const configFields = {
  host: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: hostLengthMax,
      description: 'Name or address of the IMAP server',
      examples: ['imap.example.com'],
    }),
  ),
  port: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 65535,
      description: 'Port of the IMAP server',
      examples: [993],
    }),
  ),
  username: Type.Optional(credential('Name that it logs in by')),
  password: Type.Optional(credential('Stored encrypted, never returned')),
  secure: Type.Optional(
    Type.Enum([...secureModes], {
      description:
        '`SSL`: implicit TLS. `Tls`: STARTTLS is required. `Auto`: implicit TLS on 993, else STARTTLS where offered. `None`: plain text',
    }),
  ),
  tls_verify: Type.Optional(tlsVerify),
  app_id: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 64,
      description:
        'Only for `oauth`, and required there: the OAuth app that gave the refresh token',
    }),
  ),
  refresh_token: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 16_384,
      description: 'Only for `oauth`, and required there. Stored encrypted, never returned',
    }),
  ),
}

export const imapConfig = closedObject(configFields, {
  description:
    "`basic`: `host`, `port`, `username`, `password` and `secure` are required. `oauth`: `app_id` and `refresh_token` are, and the server is the app's unless it is given",
})
export type ImapConfig = Static<typeof imapConfig>

export const imapConfigChange = changes({
  ...configFields,
  tls_verify: Type.Optional(orNull(tlsVerify)),
})
export type ImapConfigChange = Static<typeof imapConfigChange>

const webhookFields = {
  webhook_url: webhookUrl,
  method: Type.Optional(webhookMethod),
  headers: Type.Optional(webhookHeaders),
  signing: signingWanted,
}
export const imapWebhook = closedObject(webhookFields, {
  description:
    'Takes `INCOMING_EMAIL`, `IMAP_ERROR` and `MAILER_DEACTIVATED` of this mailbox, each as one JSON object',
})
export type ImapWebhook = Static<typeof imapWebhook>

const folders = Type.Array(
  Type.String({ minLength: 1, maxLength: imapFolderLengthMax, examples: ['INBOX'] }),
  {
    minItems: 1,
    maxItems: imapFoldersMax,
    uniqueItems: true,
    description:
      'Folders that are watched, as a person reads their names; the first is told of new mail at once where the server can do that. A message that is moved from one of them to another is reported once',
  },
)
const since = Type.String({
  minLength: 1,
  maxLength: 64,
  description:
    'RFC 3339: mail that arrived from then on is reported, too. Left out: what arrives from now on',
  examples: ['2026-11-20T00:00:00Z'],
})
const verify = Type.Boolean({
  description: 'false: the login is not tried before the answer, as it is when this is left out',
})

export const configureImapBody = closedObject({
  name: mailerName,
  email,
  config_type: Type.Enum([...imapConfigTypes], { description: '`basic_imap` means `imap`' }),
  connection_type: Type.Enum([...connectionTypes]),
  config: imapConfig,
  webhook: Type.Optional(imapWebhook),
  folders: Type.Optional(folders),
  since: Type.Optional(since),
  verify: Type.Optional(verify),
  allow_duplicate: allowDuplicate,
})
export type ConfigureImapBody = Static<typeof configureImapBody>

/** `folders` are replaced as a whole. */
export const updateImapBody = changes({
  mailer_id: Type.Optional(orNull(mailerId)),
  name: Type.Optional(mailerName),
  email: Type.Optional(email),
  config: Type.Optional(imapConfigChange),
  webhook: Type.Optional(
    Type.Union(
      [
        changes({
          webhook_url: Type.Optional(webhookUrl),
          method: Type.Optional(orNull(webhookMethod)),
          headers: Type.Optional(orNull(webhookHeaders)),
          signing: signingChange,
        }),
        Type.Null(),
      ],
      {
        description:
          'Of a mailbox without one, `webhook_url` is required. Given headers replace the old ones. null deletes it: events are recorded, and delivered nowhere',
      },
    ),
  ),
  folders: Type.Optional(orNull(folders)),
  since: Type.Optional(
    orNull(
      Type.String({
        minLength: 1,
        maxLength: 64,
        description:
          'Of folders that are added (with another account, of all of them): as for a new mailer. Refused where none is added',
      }),
    ),
  ),
  verify: verifyChange,
  allow_duplicate: allowDuplicateChange,
})
export type UpdateImapBody = Static<typeof updateImapBody>

export const imapMailerParams = closedObject({ mailer_id: mailerId })
export type ImapMailerParams = Static<typeof imapMailerParams>

export const configureImapAnswer = answer({ mailer, signing_secret: signingSecret })
export type ConfigureImapAnswer = Static<typeof configureImapAnswer>

export const updateImapAnswer = answer({ mailer, signing_secret: signingSecret })
export type UpdateImapAnswer = Static<typeof updateImapAnswer>

export const getImapConfigAnswer = answer({ mailer })
export type GetImapConfigAnswer = Static<typeof getImapConfigAnswer>

export const deleteImapConfigAnswer = plainAnswer
export type DeleteImapConfigAnswer = Static<typeof deleteImapConfigAnswer>
