/**
 * A mailer as every answer shows it (docs/reference/mailers.md#kinds): without its password, sealed or not.
 */
import type { DomainMailer as DomainOnWire, Mailer as MailerOnWire } from '@postrider/contract'
import { type ShowDeps, type ShownMailbox, showMailboxes } from './imap/show-mailboxes.ts'
import { effectiveDomainLimits, effectiveLimits } from './limits/limits.ts'
import type { DomainMailer, Mailer, ServerMailer } from './mailer.ts'

/** With its mailbox, where it has one. */
export async function showMailer(deps: ShowDeps, mailer: ServerMailer): Promise<MailerOnWire> {
  const { tenantId, mailerId } = mailer
  return toWire(mailer, (await showMailboxes(deps, tenantId, [mailer])).get(mailerId))
}

export function toWire(m: ServerMailer, mailbox: ShownMailbox = {}): MailerOnWire {
  return {
    ...toFacts(m),
    email: m.email,
    config_type: m.configType,
    connection_type: m.connectionType,
    config: {
      host: m.config.host,
      port: m.config.port,
      username: m.config.username ?? null,
      secure: m.config.secure,
      tls_verify: m.config.tlsVerify,
      ...(m.appId === undefined ? {} : { app_id: m.appId }),
      ...(m.imap === undefined ? {} : { imap: m.imap }),
    },
    ...mailbox,
    return_path: m.returnPath ?? null,
    limits: m.limits,
    effective_limits: effectiveLimits(m),
  }
}

export function domainToWire(m: DomainMailer): DomainOnWire {
  return {
    ...toFacts(m),
    email: '',
    config_type: m.configType,
    connection_type: m.connectionType,
    config: { relay: m.config.relay, domain: m.config.domain, verified: m.isVerified },
    return_path: null,
    limits: m.limits,
    effective_limits: effectiveDomainLimits(m),
  }
}

function toFacts(m: Mailer) {
  return {
    mailer_id: m.mailerId,
    name: m.name,
    uncertain: m.uncertain,
    state: m.state,
    state_reason: m.stateReason ?? null,
    state_evidence: m.stateEvidence ?? null,
    state_changed_at: m.stateChangedAt.toISOString(),
    created_at: m.createdAt.toISOString(),
    updated_at: m.updatedAt.toISOString(),
  }
}
