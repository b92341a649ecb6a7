/**
 * updatePhishingSettings: what is left out stays as it is, the list is replaced as a whole. A domain
 * may be a whole top-level domain, and may be given in its own letters.
 */
import type { UpdatePhishingSettingsBody } from '@postrider/contract'
import { toWireDomain } from '@postrider/mail'
import type { Queryable } from '../../platform/db/index.ts'
import { validationError } from '../../platform/errors.ts'
import { nullAs } from '../../platform/values/null-as.ts'
import { defaultSettings, type PhishingSettings } from './settings.ts'
import { changeSettings } from './settings-store.ts'

export function updateSettings(
  deps: { readonly db: Queryable },
  tenantId: string,
  { enabled, threshold, blocked_domains: domains }: UpdatePhishingSettingsBody,
): Promise<PhishingSettings> {
  return changeSettings(deps.db, tenantId, {
    isEnabled: nullAs(enabled, defaultSettings.isEnabled),
    threshold: nullAs(threshold, defaultSettings.threshold),
    blockedDomains: toDomains(nullAs(domains, [])),
  })
}

function toDomains(given: readonly string[] | undefined): string[] | undefined {
  if (given === undefined) return undefined
  const wire = given.map((domain) => toWireDomain(domain.replace(/\.$/, '')))
  const errors = wire.flatMap((domain, i) =>
    domain === undefined
      ? [{ path: `/blocked_domains/${i}`, message: 'must be a domain, such as bad.example.com' }]
      : [],
  )
  if (errors.length > 0) throw validationError(...errors)
  return [...new Set(wire.filter((domain) => domain !== undefined))].sort()
}
