/** What a mailer does, by its kind. */
import type { DomainMailer, Mailer, OAuthLoginType } from '@postrider/client'

type AnyMailer = Mailer | DomainMailer

/** It only fetches mail: it has no queue, and its password is changed by `updateIMAP`. */
export function isReadOnly({ config_type }: Pick<AnyMailer, 'config_type'>): boolean {
  return ['imap', 'basic_imap', 'oauth_imap'].includes(config_type)
}

/** It has a mailbox that is read. */
export function isReading(mailer: AnyMailer): mailer is Mailer {
  return mailer.config_type !== 'domain' && mailer.mailbox !== undefined
}

/** What the login at the provider is for, as `oauthLogin` names it. */
export function loginTypeOf({ config_type }: Pick<Mailer, 'config_type'>): OAuthLoginType {
  if (config_type === 'smtp_imap') return 'smtp_imap'
  return isReadOnly({ config_type }) ? 'imap' : 'smtp'
}
