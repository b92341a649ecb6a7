/**
 * Bodies, queries and answers of inbound routing (docs/reference/inbound.md#routes).
 *
 * A domain has a webhook, which takes its mail. A username is a route for one of its local parts; with
 * a `url` or `headers` it has a webhook of its own. No answer holds a header's value.
 */
import { type Static, Type } from 'typebox'
import {
  answer,
  changes,
  closedObject,
  nextPageToken,
  orNull,
  pageQuery,
  stringMap,
  timestamp,
  timestampOrNull,
} from './common.ts'
import { domainRecord } from './domains.ts'
import {
  isSigned,
  signingChange,
  signingSecret,
  signingWanted,
  webhookHeaders,
  webhookHeadersMax,
  webhookMethod,
  webhookUrl,
  webhookUrlLengthMax,
} from './webhooks.ts'

export const inboundDomainLengthMax = 255
/** Of a local part, in octets (RFC 5321 §4.5.3.1.1). */
export const inboundUsernameBytesMax = 64
/** Of one domain. */
export const inboundUsernamesMax = 10_000

const domainName = Type.String({
  minLength: 1,
  maxLength: inboundDomainLengthMax,
  description: 'The domain whose mail is received; other letters than a to z are taken, too',
  examples: ['inbound.example.com'],
})
const repeatedDomain = Type.String({
  maxLength: inboundDomainLengthMax,
  description: 'The domain of the path again',
})
const username = Type.String({
  minLength: 1,
  // With the quotes and backslashes that it may be written with.
  maxLength: 2 * inboundUsernameBytesMax + 2,
  description: `What stands before the \`@\`, at most ${inboundUsernameBytesMax} octets, compared without case. Mail with a tag, such as \`support+17@\`, comes by the username \`support\``,
  examples: ['support'],
})
const active = Type.Optional(
  Type.Boolean({
    description:
      'false: mail is accepted and recorded, but its events are not delivered, nor is what waits; both are had by replay',
  }),
)

export const configureInboundRoutingBody = closedObject({
  domain: domainName,
  url: webhookUrl,
  method: Type.Optional(webhookMethod),
  headers: Type.Optional(webhookHeaders),
  signing: signingWanted,
})
export type ConfigureInboundRoutingBody = Static<typeof configureInboundRoutingBody>

export const updateInboundDomainBody = changes({
  domain: Type.Optional(orNull(repeatedDomain)),
  url: Type.Optional(webhookUrl),
  method: Type.Optional(orNull(webhookMethod)),
  headers: Type.Optional(orNull(webhookHeaders)),
  signing: signingChange,
  active,
})
export type UpdateInboundDomainBody = Static<typeof updateInboundDomainBody>

export const inboundDomainParams = closedObject({ domain: domainName })
export type InboundDomainParams = Static<typeof inboundDomainParams>

const { name, value, priority, status, dns, found } = domainRecord.properties

export const inboundRecord = closedObject({
  type: Type.Enum(['TXT', 'MX'], { description: 'Type of the DNS record' }),
  name,
  value,
  priority,
  purpose: Type.Enum(['ownership', 'mx'], { description: 'What the domain needs it for' }),
  required: Type.Boolean({
    description:
      'Whether mail needs it. The `MX` is needed, and proves ownership as well; the `TXT` alone proves it before the `MX` is changed',
  }),
  status,
  dns,
  found,
})
export type InboundRecord = Static<typeof inboundRecord>

export const inboundDomainStates = ['pending', 'verified', 'taken'] as const
export type InboundDomainState = (typeof inboundDomainStates)[number]

const headersPresent = Type.Array(Type.String(), {
  description: 'Names of the custom headers that are sent',
})
const isActive = Type.Boolean({
  description: 'false: mail is accepted and recorded, and its events are not delivered',
})
const webhookId = Type.String({
  description: 'Of the webhook that takes its mail',
  examples: ['wh_01JD4M8W6ZQ3V5T7X9Y2A4C6E8'],
})

export const inboundDomain = closedObject({
  domain: Type.String({ description: 'In lower case, other letters than a to z as `xn--…`' }),
  url: Type.String({ description: 'Where its mail goes' }),
  method: webhookMethod,
  headers_present: headersPresent,
  signing: isSigned,
  active: isActive,
  webhook_id: webhookId,
  state: Type.Enum([...inboundDomainStates], {
    description:
      '`pending`: not proven yet, no mail is accepted. `verified`. `taken`: somebody else has proven that it is theirs',
  }),
  verified: Type.Boolean({
    description: 'Whether ownership is proven: mail is accepted from then on',
  }),
  verified_at: timestampOrNull('Since when; null: it is not'),
  records: Type.Array(inboundRecord, { description: 'To be published' }),
  last_check_at: timestampOrNull('When the records were last looked up; null: never'),
  created_at: timestamp('When it was configured'),
  updated_at: timestamp('When it was last changed, checks included'),
})
export type InboundDomain = Static<typeof inboundDomain>

export const listInboundDomainsQuery = pageQuery
export type ListInboundDomainsQuery = Static<typeof listInboundDomainsQuery>

export const configureInboundRoutingAnswer = answer({
  inbound_domain: inboundDomain,
  signing_secret: signingSecret,
})
export type ConfigureInboundRoutingAnswer = Static<typeof configureInboundRoutingAnswer>

export const updateInboundDomainAnswer = answer({
  inbound_domain: inboundDomain,
  signing_secret: signingSecret,
})
export type UpdateInboundDomainAnswer = Static<typeof updateInboundDomainAnswer>

export const getInboundDomainAnswer = answer({ inbound_domain: inboundDomain })
export type GetInboundDomainAnswer = Static<typeof getInboundDomainAnswer>

export const deleteInboundDomainAnswer = answer({ inbound_domain: inboundDomain })
export type DeleteInboundDomainAnswer = Static<typeof deleteInboundDomainAnswer>

export const listInboundDomainsAnswer = answer({
  inbound_domains: Type.Array(inboundDomain, { description: 'Newest first' }),
  nextPageToken,
})
export type ListInboundDomainsAnswer = Static<typeof listInboundDomainsAnswer>

const ownUrl = Type.Unsafe<string | null>({
  type: ['string', 'null'],
  minLength: 1,
  maxLength: webhookUrlLengthMax,
  description: "As of a domain. null, or left out at first: the domain's, which it then follows",
  examples: ['https://hooks.example.com/support'],
})
const ownHeaders = stringMap({
  description:
    'As of a domain, whose headers are not sent where a username has headers or a `url` of its own. `{}` takes its own away',
  maxProperties: webhookHeadersMax,
  examples: [{ 'X-Webhook-Secret': 'a long random value' }],
})

const ownSigning = Type.Optional(
  Type.Boolean({
    description:
      'As of a domain; only with a `url` or `headers` of its own, else its mail is signed as the domain says',
  }),
)

export const createInboundUsernameBody = closedObject({
  domain: Type.Optional(repeatedDomain),
  username,
  url: Type.Optional(ownUrl),
  method: Type.Optional(webhookMethod),
  headers: Type.Optional(ownHeaders),
  signing: ownSigning,
})
export type CreateInboundUsernameBody = Static<typeof createInboundUsernameBody>

export const updateInboundUsernameBody = changes({
  domain: Type.Optional(orNull(repeatedDomain)),
  username: Type.Optional(
    orNull(
      Type.String({
        maxLength: 2 * inboundUsernameBytesMax + 2,
        description: 'The username of the path again',
      }),
    ),
  ),
  url: Type.Optional(ownUrl),
  method: Type.Optional(orNull(webhookMethod)),
  headers: Type.Optional(orNull(ownHeaders)),
  signing: ownSigning,
  active,
})
export type UpdateInboundUsernameBody = Static<typeof updateInboundUsernameBody>

export const inboundUsernameParams = closedObject({ domain: domainName, username })
export type InboundUsernameParams = Static<typeof inboundUsernameParams>

export const inboundUsername = closedObject({
  domain: Type.String({ description: 'The inbound domain' }),
  username: Type.String({ description: 'In lower case' }),
  url: Type.String({ description: "Where its mail goes: its own, or the domain's" }),
  method: webhookMethod,
  headers_present: headersPresent,
  signing: isSigned,
  active: isActive,
  webhook_id: webhookId,
  url_inherited: Type.Boolean({ description: "Whether `url` is the domain's" }),
  webhook_inherited: Type.Boolean({
    description: "Whether its mail goes by the domain's webhook: it has no `url` and no `headers`",
  }),
  created_at: timestamp('When it was created'),
  updated_at: timestamp('When it was last changed'),
})
export type InboundUsername = Static<typeof inboundUsername>

export const listInboundUsernamesQuery = pageQuery
export type ListInboundUsernamesQuery = Static<typeof listInboundUsernamesQuery>

export const createInboundUsernameAnswer = answer({
  inbound_username: inboundUsername,
  signing_secret: signingSecret,
})
export type CreateInboundUsernameAnswer = Static<typeof createInboundUsernameAnswer>

export const updateInboundUsernameAnswer = answer({
  inbound_username: inboundUsername,
  signing_secret: signingSecret,
})
export type UpdateInboundUsernameAnswer = Static<typeof updateInboundUsernameAnswer>

export const getInboundUsernameAnswer = answer({ inbound_username: inboundUsername })
export type GetInboundUsernameAnswer = Static<typeof getInboundUsernameAnswer>

export const deleteInboundUsernameAnswer = answer({ inbound_username: inboundUsername })
export type DeleteInboundUsernameAnswer = Static<typeof deleteInboundUsernameAnswer>

export const listInboundUsernamesAnswer = answer({
  inbound_usernames: Type.Array(inboundUsername, { description: 'Newest first' }),
  nextPageToken,
})
export type ListInboundUsernamesAnswer = Static<typeof listInboundUsernamesAnswer>
