/**
 * The login that this tab has sent its browser away for: what comes back is believed only for it, and it can be
 * begun again. It belongs to one person in one tenant, and is forgotten at the log-out.
 */
import type { OAuthLoginType } from '@postrider/client'

export interface StartedLogin {
  readonly app_id: string
  readonly type: OAuthLoginType
  /** Absent: a mailbox is connected for the first time. */
  readonly mailer_id?: string
}

/** Who began it, and for which tenant. */
export interface Starter {
  readonly tenantId: string
  readonly userId: string
}

const key = 'postrider.oauth-login'

export function keepStarted({ tenantId, userId }: Starter, login: StartedLogin): void {
  try {
    sessionStorage.setItem(key, JSON.stringify({ tenantId, userId, login }))
  } catch {
    // The page to come does without it.
  }
}

/** Undefined where the same person began none for the same tenant, or where the browser stores nothing. */
export function lastStarted({ tenantId, userId }: Starter): StartedLogin | undefined {
  try {
    const kept = JSON.parse(sessionStorage.getItem(key) ?? 'null')
    return kept?.tenantId === tenantId && kept.userId === userId ? kept.login : undefined
  } catch {
    return undefined
  }
}

export function forgetStarted(): void {
  try {
    sessionStorage.removeItem(key)
  } catch {
    // Nothing was stored.
  }
}
