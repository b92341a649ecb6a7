/** A mailer as every answer shows it (contract §3.6): without its password, sealed or not. */
import type {
  DomainMailer as DomainOnWire,
  MailboxWebhook,
  Mailer as MailerOnWire,
} from '@postrider/contract'
import type { Queryable } from '../platform/db/index.ts'
import { foldersOf, sinceOf } from './imap/mailbox.ts'
import { showWebhooks } from './imap/mailbox-webhook.ts'
import { effectiveDomainLimits, effectiveLimits } from './limits.ts'
import { canFetch, type DomainMailer, type Mailer, type ServerMailer } from './mailer.ts'

/** With its webhook, where it has a mailbox. */
export async function showMailer(
  { db }: { readonly db: Queryable },
  mailer: ServerMailer,
): Promise<MailerOnWire> {
  const { tenantId, mailerId } = mailer
  return toWire(mailer, (await showWebhooks(db, tenantId, [mailer])).get(mailerId))
}

export function toWire(m: ServerMailer, webhook: MailboxWebhook = null): MailerOnWire {
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
    ...(canFetch(m)
      ? { webhook, folders: foldersOf(m).map(({ path }) => path), since: sinceOf(m) }
      : {}),
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
