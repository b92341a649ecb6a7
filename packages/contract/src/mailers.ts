/**
 * Bodies and answers of SMTP mailers, and the shape of all mailers (docs/reference/mailers.md#kinds).
 * What is IMAP's own is in imap.ts.
 *
 * No answer ever holds a password. `basic_smtp` is a synonym of `smtp` in requests; answers and
 * events say `smtp`.
 */
import { type Static, Type } from 'typebox'
import {
  answer,
  changes,
  closedObject,
  nextPageToken,
  orNull,
  pageQuery,
  plainAnswer,
  stringOrNull,
  timestamp,
  timestampOrNull,
} from './common.ts'
import { mailerConfigTypes } from './events.ts'
import { relayKinds } from './relays.ts'
import { isSigned, webhookMethod } from './webhooks.ts'

export const secureModes = ['Auto', 'Tls', 'SSL', 'None'] as const
export type SecureMode = (typeof secureModes)[number]

export const connectionTypes = ['basic', 'oauth'] as const
export type ConnectionType = (typeof connectionTypes)[number]

export const smtpConfigTypes = ['smtp', 'basic_smtp'] as const

/**
 * What follows when the server's answer to a complete message was lost
 * (docs/reference/sending.md#interrupted-attempts).
 */
export const uncertainPolicies = ['at_least_once', 'at_most_once'] as const
export type UncertainPolicy = (typeof uncertainPolicies)[number]

export const mailerStates = ['active', 'deactivated', 'disabled'] as const
export type MailerState = (typeof mailerStates)[number]

export const mailerNameLengthMax = 200
export const hostLengthMax = 255
export const credentialLengthMax = 1024
export const emailLengthMax = 320
export const mailerConnectionsMax = 50

export const mailerId = Type.String({
  maxLength: 64,
  description: 'Identifier of the mailer',
  examples: ['smtp_01JD4M8W6ZQ3V5T7X9Y2A4C6E8'],
})
export const mailerName = Type.String({
  minLength: 1,
  maxLength: mailerNameLengthMax,
  description: 'Name of the mailer, for people',
})
const mailerEmail = Type.String({
  minLength: 1,
  maxLength: emailLengthMax,
  description: 'Address that the mailer sends for',
  examples: ['news@example.com'],
})
const host = Type.String({
  minLength: 1,
  maxLength: hostLengthMax,
  description: 'Name or address of the SMTP server',
  examples: ['smtp.example.com'],
})
const port = Type.Integer({
  minimum: 1,
  maximum: 65535,
  description: 'Port of the SMTP server',
  examples: [587],
})
const username = Type.String({
  minLength: 1,
  maxLength: credentialLengthMax,
  description: 'Name that it logs in by; without one the server is used without a login',
})
const password = Type.String({
  minLength: 1,
  maxLength: credentialLengthMax,
  description: 'Stored encrypted, never returned',
})
const secure = Type.Enum([...secureModes], {
  description:
    '`SSL`: implicit TLS. `Tls`: STARTTLS is required. `Auto`: implicit TLS on 465, else STARTTLS where offered. `None`: plain text',
})
const tlsVerify = Type.Boolean({
  description:
    "false: the server's certificate is not verified; true when left out of a new mailer",
})

const appId = Type.String({
  minLength: 1,
  maxLength: 64,
  description: 'Only for `oauth`, and required there: the OAuth app that gave the refresh token',
})
const refreshToken = Type.String({
  minLength: 1,
  maxLength: 16_384,
  description: 'Only for `oauth`, and required there. Stored encrypted, never returned',
})

/**
 * Of both connection types in one shape, for one schema can say of one field only whether it may be
 * there: what a type requires and refuses is checked by the server.
 */
const smtpConfigFields = {
  host: Type.Optional(host),
  port: Type.Optional(port),
  username: Type.Optional(username),
  password: Type.Optional(password),
  secure: Type.Optional(secure),
  tls_verify: Type.Optional(tlsVerify),
  app_id: Type.Optional(appId),
  refresh_token: Type.Optional(refreshToken),
}
export const smtpConfig = closedObject(smtpConfigFields, {
  description:
    "`basic`: `host`, `port` and `secure` are required. `oauth`: `app_id` and `refresh_token` are, and the server is the app's unless it is given",
})
export type SmtpConfig = Static<typeof smtpConfig>

export const smtpConfigChange = changes({
  ...smtpConfigFields,
  username: Type.Optional(orNull(username)),
  password: Type.Optional(orNull(password)),
  tls_verify: Type.Optional(orNull(tlsVerify)),
})
export type SmtpConfigChange = Static<typeof smtpConfigChange>

const rates = {
  per_second: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'Attempts within any second' }),
  ),
  per_minute: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1_000_000_000, description: 'Attempts within any minute' }),
  ),
  per_day: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1_000_000_000,
      description: 'Attempts within any 24 hours, as the large providers count',
    }),
  ),
}
const connections = Type.Integer({
  minimum: 1,
  maximum: mailerConnectionsMax,
  description: 'Connections open to the server at once',
})
const messagesPerConnection = Type.Integer({
  minimum: 1,
  maximum: 10_000,
  description: 'Messages sent over one connection before it is closed',
})

export const mailerLimits = closedObject(
  {
    ...rates,
    connections: Type.Optional(connections),
    messages_per_connection: Type.Optional(messagesPerConnection),
  },
  {
    description: 'Enforced over all processes; waiting for one is never an attempt',
  },
)
export type MailerLimits = Static<typeof mailerLimits>

export const effectiveLimits = closedObject(
  { ...rates, connections, messages_per_connection: messagesPerConnection },
  {
    description:
      "What holds: the mailer's own limits, else what its provider is known to allow, else the defaults",
  },
)
export type EffectiveLimits = Static<typeof effectiveLimits>

const requests = Type.Integer({
  minimum: 1,
  maximum: mailerConnectionsMax,
  description: 'Requests to the relay provider at once',
})

export const domainLimits = closedObject(
  { ...rates, connections: Type.Optional(requests) },
  { description: 'Enforced over all processes; waiting for one is never an attempt' },
)
export type DomainLimits = Static<typeof domainLimits>

export const effectiveDomainLimits = closedObject(
  { ...rates, connections: requests },
  { description: "What holds: the domain's own limits, else the defaults" },
)
export type EffectiveDomainLimits = Static<typeof effectiveDomainLimits>

const verify = Type.Boolean({
  description: 'false: the login is not tried before the answer, as it is when this is left out',
})
export const uncertain = Type.Enum([...uncertainPolicies], {
  description:
    'Whether a mail that may have been delivered is sent again; `at_least_once` for a new mailer',
})

const returnPath = Type.Union([Type.String({ maxLength: 320 }), Type.Null()], {
  description:
    '`bounces@` and a verified inbound domain of the account. The envelope sender is then `bounces+<token>@` that domain, and a report to that address counts for its recipient. null: the envelope sender is `email`',
})

export const allowDuplicate = Type.Optional(
  Type.Boolean({
    description:
      'true: made although the account has a mailer of this kind for the address, which is else 409 `mailer_exists`',
  }),
)

export const allowDuplicateChange = Type.Optional(
  orNull(
    Type.Boolean({
      description:
        'true: given another `email` although the account has a mailer of this kind for it, which is else 409 `mailer_exists`',
    }),
  ),
)

export const configureSmtpBody = closedObject({
  name: mailerName,
  email: mailerEmail,
  config_type: Type.Enum([...smtpConfigTypes], {
    description: '`basic_smtp` means `smtp`',
  }),
  connection_type: Type.Enum([...connectionTypes]),
  config: smtpConfig,
  limits: Type.Optional(mailerLimits),
  uncertain: Type.Optional(uncertain),
  return_path: Type.Optional(returnPath),
  verify: Type.Optional(verify),
  allow_duplicate: allowDuplicate,
})
export type ConfigureSmtpBody = Static<typeof configureSmtpBody>

export const verifyChange = Type.Optional(
  orNull(
    Type.Boolean({
      description:
        'false: the login is not tried before the answer, and a deactivated mailer stays so. Else a given `config`, also an empty one, is logged in with, which makes a deactivated mailer active',
    }),
  ),
)

/** `limits` is replaced as a whole. */
export const updateSmtpBody = changes({
  mailer_id: Type.Optional(orNull(mailerId)),
  name: Type.Optional(mailerName),
  email: Type.Optional(mailerEmail),
  config: Type.Optional(smtpConfigChange),
  limits: Type.Optional(orNull(mailerLimits)),
  uncertain: Type.Optional(orNull(uncertain)),
  return_path: Type.Optional(returnPath),
  verify: verifyChange,
  allow_duplicate: allowDuplicateChange,
})
export type UpdateSmtpBody = Static<typeof updateSmtpBody>

export const mailerParams = closedObject({ mailer_id: mailerId })
export type MailerParams = Static<typeof mailerParams>

const mailerFacts = {
  mailer_id: Type.String({ description: 'Identifier of the mailer' }),
  name: Type.String({ description: 'For people' }),
  uncertain: Type.Enum([...uncertainPolicies]),
  return_path: stringOrNull(
    'Where its bounces come back to; null: to the sender, or to the relay provider',
  ),
  state: Type.Enum([...mailerStates]),
  state_reason: stringOrNull('Why it is not active'),
  state_evidence: stringOrNull("The server's reply that led to the state"),
  state_changed_at: timestamp('When it came into this state'),
  created_at: timestamp('When it was configured'),
  updated_at: timestamp('When it was last changed'),
}

const mailboxWebhook = Type.Union(
  [
    closedObject({
      webhook_id: Type.String({
        description: 'Identifier of the webhook',
        examples: ['wh_01JD4M8W6ZQ3V5T7X9Y2A4C6E8'],
      }),
      webhook_url: Type.String({ description: 'Where its requests go' }),
      method: webhookMethod,
      headers_present: Type.Array(Type.String(), {
        description: 'Names of the custom headers that are sent',
      }),
      signing: isSigned,
    }),
    Type.Null(),
  ],
  {
    description:
      'Only of one that fetches: what takes its `INCOMING_EMAIL`, `IMAP_ERROR` and `MAILER_DEACTIVATED`; null: nothing does',
  },
)
export type MailboxWebhook = Static<typeof mailboxWebhook>

export const mailboxStates = ['waiting', 'watched', 'failing', 'stopped'] as const

export const mailboxHealth = closedObject(
  {
    state: Type.Enum([...mailboxStates], {
      description:
        '`watched`: all of its folders have been looked at in the last ten minutes. `failing`: it cannot be read, or one of its folders cannot. `waiting`: neither, for it is in line, has much to catch up with, or no process with the role `mailbox` runs. `stopped`: its mailer is not active',
    }),
    failing_since: timestampOrNull('Since when it cannot be read; null: it is not failing'),
    last_read_at: timestampOrNull(
      'When all of its folders were looked at last, every four minutes while it is watched; null: never',
    ),
    last_error: Type.Union(
      [
        closedObject({
          at: timestamp('When it was met last'),
          failed_reason: Type.String({ description: 'As in `IMAP_ERROR`' }),
          provider_error: Type.String({
            description: 'As received; empty when nothing was said',
          }),
        }),
        Type.Null(),
      ],
      { description: 'Kept when it can be read again; null: there was none' },
    ),
  },
  { description: 'Only of one that fetches: whether its mailbox can be read' },
)
export type MailboxHealth = Static<typeof mailboxHealth>

export const mailer = closedObject({
  ...mailerFacts,
  email: Type.String({ description: 'Address that it sends for, or that is fetched from' }),
  config_type: Type.Enum(
    mailerConfigTypes.filter((type) => type !== 'domain'),
    { description: 'How it sends or fetches' },
  ),
  connection_type: Type.Enum([...connectionTypes]),
  config: closedObject(
    {
      host: Type.String({ description: 'Name or address of the server' }),
      port: Type.Integer({ description: 'Port of the server' }),
      username: stringOrNull('null: the server is used without a login'),
      secure: Type.Enum([...secureModes]),
      tls_verify: Type.Boolean({ description: "Whether the server's certificate is verified" }),
      app_id: Type.Optional(Type.String({ description: 'Only for `oauth`' })),
      imap: Type.Optional(
        closedObject(
          {
            host: Type.String({ description: 'Name or address of the IMAP server' }),
            port: Type.Integer({ description: 'Port of the IMAP server' }),
            secure: Type.Enum([...secureModes]),
          },
          { description: 'Only for `smtp_imap`: where mail is fetched from' },
        ),
      ),
    },
    { description: 'Without secrets' },
  ),
  webhook: Type.Optional(mailboxWebhook),
  folders: Type.Optional(
    Type.Array(Type.String(), { description: 'Only of one that fetches: what is watched' }),
  ),
  since: Type.Optional(
    timestamp(
      'Only of one that fetches: mail that arrived before is not reported. Of folders that begin at different times, the earliest',
    ),
  ),
  mailbox: Type.Optional(mailboxHealth),
  limits: mailerLimits,
  effective_limits: effectiveLimits,
})
export type Mailer = Static<typeof mailer>

/** A sending domain: it sends by a relay provider, for every address of its domain. */
export const domainMailer = closedObject({
  ...mailerFacts,
  email: Type.Literal('', { description: 'It sends for every address of its domain' }),
  config_type: Type.Literal('domain', { description: 'A sending domain' }),
  connection_type: Type.Literal('relay', { description: 'By a relay provider' }),
  config: closedObject(
    {
      relay: Type.Enum([...relayKinds], { description: 'The relay provider' }),
      domain: Type.String({ description: 'The domain' }),
      verified: Type.Boolean({ description: 'Until it is, nothing is accepted for it' }),
    },
    { description: 'The domain, and who sends for it' },
  ),
  limits: domainLimits,
  effective_limits: effectiveDomainLimits,
})
export type DomainMailer = Static<typeof domainMailer>

export const listMailersQuery = closedObject({
  state: Type.Optional(Type.Enum([...mailerStates], { description: 'Only those in this state' })),
  ...pageQuery.properties,
})
export type ListMailersQuery = Static<typeof listMailersQuery>

const lastErrors = Type.Array(
  closedObject({
    at: timestamp('When it was met last'),
    failed_reason: Type.String({ description: 'As in `SMTP_ERROR`' }),
    provider_error: Type.String({ description: 'As received; empty when nothing was said' }),
    ref_id: Type.String({ description: 'The email that met it' }),
  }),
  {
    description:
      'The latest failure of each kind that concerns the mailer, its account or its server, not a recipient or a message. Up to five, newest first. Kept when the mailer works again',
  },
)

export const listedMailer = closedObject({ ...mailer.properties, last_errors: lastErrors })
export type ListedMailer = Static<typeof listedMailer>

export const listedDomainMailer = closedObject({
  ...domainMailer.properties,
  last_errors: lastErrors,
})
export type ListedDomainMailer = Static<typeof listedDomainMailer>

export const listMailersAnswer = answer({
  mailers: Type.Array(Type.Union([listedMailer, listedDomainMailer]), {
    description: 'Newest first, of every type and state',
  }),
  nextPageToken,
})
export type ListMailersAnswer = Static<typeof listMailersAnswer>

export const setMailerActiveBody = closedObject({
  active: Type.Boolean({ description: 'false: disabled until it is made active again' }),
})
export type SetMailerActiveBody = Static<typeof setMailerActiveBody>

export const setMailerActiveAnswer = answer({
  mailer: Type.Union([mailer, domainMailer], { description: 'Of any kind' }),
})
export type SetMailerActiveAnswer = Static<typeof setMailerActiveAnswer>

/** Of one tenant: test mails in an hour. */
export const testMailsMax = 10

export const testMailerBody = closedObject({
  to: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: emailLengthMax,
      description: `Sends a short test mail to this address, too, at most ${testMailsMax} in an hour. The key then needs the scope \`send\` as well`,
      examples: ['ada@example.com'],
    }),
  ),
})
export type TestMailerBody = Static<typeof testMailerBody>

export const testSteps = [
  'token',
  'dns',
  'connect',
  'tls',
  'greeting',
  'ehlo',
  'starttls',
  'auth',
  'mailbox',
  'domain',
  'message',
] as const

export const testStep = closedObject(
  {
    step: Type.Enum([...testSteps], {
      description:
        '`token`: of the OAuth provider. `mailbox`: connection and login of IMAP. `domain`: whether a sending domain is verified. `message`: the test mail. The others as they are in SMTP',
    }),
    ok: Type.Boolean({ description: 'Whether it went well; nothing follows a step that did not' }),
    duration_ms: Type.Integer({ minimum: 0, description: 'Since the step before' }),
    reply: Type.String({
      description: "The peer's own words, or what was found; never a password or a token",
    }),
  },
  { description: 'A step of the test of a mailer' },
)
export type TestStep = Static<typeof testStep>

export const testMailerAnswer = answer({
  steps: Type.Array(testStep, { description: 'In their order; the last one may have failed' }),
})
export type TestMailerAnswer = Static<typeof testMailerAnswer>

export const configureSmtpAnswer = answer({ mailer })
export type ConfigureSmtpAnswer = Static<typeof configureSmtpAnswer>

export const updateSmtpAnswer = answer({ mailer })
export type UpdateSmtpAnswer = Static<typeof updateSmtpAnswer>

export const getSmtpConfigAnswer = answer({ mailer })
export type GetSmtpConfigAnswer = Static<typeof getSmtpConfigAnswer>

export const deleteSmtpConfigAnswer = plainAnswer
export type DeleteSmtpConfigAnswer = Static<typeof deleteSmtpConfigAnswer>
