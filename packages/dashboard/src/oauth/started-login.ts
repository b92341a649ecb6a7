/**
 * The login that this tab has sent its browser away for, to begin it again where it fails. A browser that stores
 * nothing leads back to the list in its place.
 */
import type { OAuthLoginType } from '@postrider/client'

export interface StartedLogin {
  readonly app_id: string
  readonly type: OAuthLoginType
  /** Absent: a mailbox is connected for the first time. */
  readonly mailer_id?: string
}

const key = 'postrider.oauth-login'

export function keepStarted(login: StartedLogin): void {
  try {
    sessionStorage.setItem(key, JSON.stringify(login))
  } catch {
    // The page to come does without it.
  }
}

export function lastStarted(): StartedLogin | undefined {
  try {
    return JSON.parse(sessionStorage.getItem(key) ?? 'null') ?? undefined
  } catch {
    return undefined
  }
}
