/** The operations on phishing protection's settings. */
import {
  getPhishingSettingsAnswer,
  type PhishingSettings as PhishingSettingsWire,
  updatePhishingSettingsAnswer,
  updatePhishingSettingsBody,
} from '@postrider/contract'
import type { FastifyInstance } from 'fastify'
import type { Queryable } from '../../platform/db/index.ts'
import { addOperation } from '../../platform/http/operation.ts'
import { readSettings } from './read-settings.ts'
import type { PhishingSettings } from './settings.ts'
import { updateSettings } from './update-settings.ts'

export function phishingRoutes(app: FastifyInstance, deps: { readonly db: Queryable }): void {
  const tag = 'Phishing protection'
  addOperation(app, 'getPhishingSettings', {
    summary: 'Get the settings of phishing protection',
    description:
      'Every email is checked before an attempt contacts a server. It is stopped when its score reaches the threshold, when it names a blocked domain, or when it is too large to check. Its recipients then become `blocked`, each with a `PHISHING` event that says why.',
    tag,
    scopes: ['read'],
    answer: getPhishingSettingsAnswer,
    async handle({ tenant }) {
      const settings = await readSettings(deps, tenant.tenantId)
      return { message: 'Phishing Settings', settings: toWire(settings) }
    },
  })

  addOperation(app, 'updatePhishingSettings', {
    summary: 'Set phishing protection',
    description:
      'What is left out stays as it is; `blocked_domains` is replaced as a whole. It holds for every attempt that begins more than a second later, also of emails accepted before.',
    tag,
    // A key that only sends cannot switch the protection off.
    scopes: [],
    body: updatePhishingSettingsBody,
    answer: updatePhishingSettingsAnswer,
    async handle({ tenant, body }) {
      const settings = await updateSettings(deps, tenant.tenantId, body)
      return { message: 'Phishing Settings Updated', settings: toWire(settings) }
    },
  })
}

function toWire({
  isEnabled,
  threshold,
  blockedDomains,
  updatedAt,
}: PhishingSettings): PhishingSettingsWire {
  return {
    enabled: isEnabled,
    threshold,
    blocked_domains: [...blockedDomains],
    updated_at: updatedAt?.toISOString() ?? null,
  }
}
