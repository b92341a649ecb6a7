/** Bodies and answers of phishing protection's settings (docs/reference/sending.md#phishing). */
import { type Static, Type } from 'typebox'
import { answer, changes, closedObject, orNull, timestampOrNull } from './common.ts'

/** Ordinary mail stays below it; see docs/operations/phishing.md. */
export const defaultPhishingThreshold = 60
export const blockedDomainsMax = 1_000
const domainLengthMax = 255

const enabled = Type.Boolean({
  description: 'Whether emails are checked before they are sent; true until it is set',
})
const threshold = Type.Integer({
  minimum: 1,
  maximum: 100,
  description: `An email whose score (0 to 100) is this or more is stopped; ${defaultPhishingThreshold} until it is set`,
})

/** `blocked_domains` is replaced as a whole. */
export const updatePhishingSettingsBody = changes({
  enabled: Type.Optional(orNull(enabled)),
  threshold: Type.Optional(orNull(threshold)),
  blocked_domains: Type.Optional(
    orNull(
      Type.Array(Type.String({ minLength: 1, maxLength: domainLengthMax }), {
        maxItems: blockedDomainsMax,
        description:
          'Domains, with all names below them, that no email may name in a link, a picture or its text. An email that does is stopped whatever its score',
        examples: [['bad.example.com']],
      }),
    ),
  ),
})
export type UpdatePhishingSettingsBody = Static<typeof updatePhishingSettingsBody>

export const phishingSettings = closedObject({
  enabled,
  threshold,
  blocked_domains: Type.Array(Type.String(), {
    description: 'In lower case and A-labels, each once, in order',
  }),
  updated_at: timestampOrNull('When it was last set; null: never, all of it is the default'),
})
export type PhishingSettings = Static<typeof phishingSettings>

export const getPhishingSettingsAnswer = answer({ settings: phishingSettings })
export type GetPhishingSettingsAnswer = Static<typeof getPhishingSettingsAnswer>

export const updatePhishingSettingsAnswer = answer({ settings: phishingSettings })
export type UpdatePhishingSettingsAnswer = Static<typeof updatePhishingSettingsAnswer>
