/**
 * Bodies, queries and answers of sending domains (docs/reference/domains.md#records).
 *
 * A sending domain is a mailer: `mailer_id` names it in emails, events and logs. No answer holds a
 * private key.
 */
import { type Static, Type } from 'typebox'
import {
  answer,
  changes,
  closedObject,
  jsonObjectOrNull,
  nextPageToken,
  orNull,
  pageQuery,
  stringOrNull,
  timestamp,
  timestampOrNull,
} from './common.ts'
import { domainLimits, uncertain } from './mailers.ts'
import { relayKinds } from './relays.ts'

export const domainNameLengthMax = 255
export const domainIpsMax = 100
export const dkimSelectorLengthMax = 63

const domainName = Type.String({
  minLength: 1,
  maxLength: domainNameLengthMax,
  description: 'The domain to send for; a name with other letters than a to z is taken, too',
  examples: ['mail.example.com'],
})
const relay = Type.Enum([...relayKinds], {
  description: "The provider that sends for it; the tenant's only one when left out",
})

const domainOptions = {
  is_tenant_domain: Type.Optional(
    Type.Boolean({
      description: "Whether it is a domain of the caller's own customer; kept and returned",
    }),
  ),
  is_tenant_subdomain: Type.Optional(
    Type.Boolean({
      description:
        "Whether it is a subdomain given to the caller's own customer; kept and returned",
    }),
  ),
  shared_with_subaccounts: Type.Optional(
    Type.Boolean({ description: "`sparkpost`: the account's subaccounts may send for it, too" }),
  ),
  ips: Type.Optional(
    Type.Array(Type.String({ maxLength: 64 }), {
      maxItems: domainIpsMax,
      uniqueItems: true,
      description: '`sendgrid`: IP addresses of the account that send for it',
      examples: [['192.0.2.1']],
    }),
  ),
  selector: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: dkimSelectorLengthMax,
      description: 'DKIM selector; one is chosen when left out',
      examples: ['s1'],
    }),
  ),
}

export const addDomainBody = closedObject({
  domain: domainName,
  relay: Type.Optional(relay),
  custom_args: Type.Optional(
    jsonObjectOrNull({
      description: 'Up to 10 KiB of your own, echoed in `DOMAIN_VERIFICATION`',
      examples: [{ customer: 17 }],
    }),
  ),
  ...domainOptions,
})
export type AddDomainBody = Static<typeof addDomainBody>

/** `limits` is replaced as a whole. */
export const updateDomainBody = changes({
  limits: Type.Optional(orNull(domainLimits)),
  uncertain: Type.Optional(orNull(uncertain)),
})
export type UpdateDomainBody = Static<typeof updateDomainBody>

export const domainParams = closedObject({ domain: domainName })
export type DomainParams = Static<typeof domainParams>

export const recordTypes = ['TXT', 'CNAME', 'MX'] as const
export const recordPurposes = ['ownership', 'dkim', 'return_path', 'spf', 'dmarc', 'mx'] as const

export const recordStatuses = ['pending', 'valid', 'invalid'] as const
export type RecordStatus = (typeof recordStatuses)[number]

export const dnsFindings = ['found', 'absent', 'unknown'] as const
export type DnsFinding = (typeof dnsFindings)[number]

export const keyTurns = ['next', 'previous'] as const
export type KeyTurn = (typeof keyTurns)[number]

export const domainRecord = closedObject({
  type: Type.Enum([...recordTypes], { description: 'Type of the DNS record' }),
  name: Type.String({
    description: 'Fully qualified, without a final dot',
    examples: ['_postrider.mail.example.com'],
  }),
  value: Type.String({ description: 'What is to be published there' }),
  priority: Type.Optional(Type.Integer({ description: 'Of an `MX`' })),
  purpose: Type.Enum([...recordPurposes], { description: 'What the domain needs it for' }),
  required: Type.Boolean({
    description: 'Whether the domain needs it to be verified; else it is advice',
  }),
  status: Type.Enum([...recordStatuses], {
    description:
      '`pending`: not seen yet. `valid`: seen as it should be. `invalid`: something else was seen, or it is gone',
  }),
  dns: Type.Unsafe<DnsFinding | null>({
    type: ['string', 'null'],
    enum: [...dnsFindings, null],
    description:
      'What name servers said at the last check. `absent`: that nothing is there. `unknown`: nothing, which leaves the status as it was. null: they were not asked',
  }),
  found: Type.Array(Type.String(), {
    description: 'What they had under the name then; of an alias, the names that it leads to',
  }),
  rotation: Type.Optional(
    Type.Enum([...keyTurns], {
      description:
        'Of the record of a DKIM key that is not the one in use. `next`: the key is used as soon as its record is valid. `previous`: it was in use before',
    }),
  ),
  removable_at: Type.Optional(
    timestamp('Of a `previous` key: when no mail signed with it can be under way any more'),
  ),
})
export type DomainRecord = Static<typeof domainRecord>

export const domainStates = ['creating', 'pending', 'verified', 'unverified', 'taken'] as const
export type DomainState = (typeof domainStates)[number]

export const domain = closedObject({
  domain: Type.String({ description: 'In lower case, other letters than a to z as `xn--…`' }),
  mailer_id: Type.String({
    description: 'Names it as a mailer',
    examples: ['domain_01JD4M8W6ZQ3V5T7X9Y2A4C6E8'],
  }),
  relay: Type.Enum([...relayKinds]),
  state: Type.Enum([...domainStates], {
    description:
      '`creating`: the provider has not confirmed it yet, which is tried again. `pending`: not verified yet. `verified`. `unverified`: it was, and is not any more. `taken`: somebody else has verified it',
  }),
  verified: Type.Boolean({
    description: 'Whether all required records are valid and the provider agrees: it can send',
  }),
  verified_at: timestampOrNull('Since when it is verified; null: it is not'),
  custom_args: jsonObjectOrNull({ description: 'As given, else null' }),
  ...domainOptions,
  selector: stringOrNull('DKIM selector in use; null: the provider has its own'),
  limits: domainLimits,
  uncertain,
  records: Type.Array(domainRecord, { description: 'To be published' }),
  provider: closedObject(
    {
      agrees: Type.Boolean({ description: 'Whether it would send for the domain' }),
      detail: stringOrNull('Its last words where it did not'),
    },
    { description: 'What the relay provider said last' },
  ),
  last_check_at: timestampOrNull('When it was last checked; null: never'),
  next_check_at: timestampOrNull(
    'When it is checked by itself; null: not any more, after 30 days without being verified, until verifyDomain',
  ),
  created_at: timestamp('When it was added'),
  updated_at: timestamp('When it was last changed, checks included'),
})
export type Domain = Static<typeof domain>

export const listDomainsQuery = closedObject({
  state: Type.Optional(Type.Enum([...domainStates], { description: 'Only those in this state' })),
  ...pageQuery.properties,
})
export type ListDomainsQuery = Static<typeof listDomainsQuery>

export const listDomainsAnswer = answer({
  domains: Type.Array(domain, { description: 'Newest first' }),
  nextPageToken,
})
export type ListDomainsAnswer = Static<typeof listDomainsAnswer>

export const addDomainAnswer = answer({ domain })
export type AddDomainAnswer = Static<typeof addDomainAnswer>

export const getDomainAnswer = answer({ domain })
export type GetDomainAnswer = Static<typeof getDomainAnswer>

export const updateDomainAnswer = answer({ domain })
export type UpdateDomainAnswer = Static<typeof updateDomainAnswer>

export const verifyDomainAnswer = answer({ domain })
export type VerifyDomainAnswer = Static<typeof verifyDomainAnswer>

export const deleteDomainAnswer = answer({ domain })
export type DeleteDomainAnswer = Static<typeof deleteDomainAnswer>

export const rotateDomainKeyAnswer = answer({ domain })
export type RotateDomainKeyAnswer = Static<typeof rotateDomainKeyAnswer>
