/**
 * The limits that hold for a mailer (docs/reference/mailers.md#limits): its own, else those that its provider
 * publishes, else five connections and no rate.
 */
import type { EffectiveDomainLimits, EffectiveLimits } from '@postrider/contract'
import type { DomainMailer, ServerMailer } from '../mailer.ts'
import { LIMIT_PRESETS, RELAY_LIMITS } from './limit-presets.ts'

const CONNECTIONS_DEFAULT = 5
const MESSAGES_PER_CONNECTION_DEFAULT = 100

export function effectiveLimits({
  config: { host, username },
  limits,
}: Pick<ServerMailer, 'config' | 'limits'>): EffectiveLimits {
  const name = host.toLowerCase().replace(/\.$/, '')
  const preset = LIMIT_PRESETS.find(
    (one) =>
      one.host.test(name) && (one.username === undefined || one.username.test(username ?? '')),
  )
  return {
    connections: CONNECTIONS_DEFAULT,
    messages_per_connection: MESSAGES_PER_CONNECTION_DEFAULT,
    ...preset?.limits,
    ...limits,
  }
}

export function effectiveDomainLimits({
  config: { relay },
  limits,
}: Pick<DomainMailer, 'config' | 'limits'>): EffectiveDomainLimits {
  return { ...RELAY_LIMITS[relay], ...limits }
}
