/** What has to be known of a mailbox to keep a copy of what was sent by it. */
import type { Queryable } from '../../platform/db/index.ts'
import { getServerMailer } from '../store.ts'
import { getApp } from './apps/app-store.ts'
import { PROVIDERS } from './provider.ts'
import type { MailerKey } from './tokens/mailer-token.ts'

export interface SentMailer {
  readonly isActive: boolean
  /** Its provider puts what is sent into the Sent folder by itself. */
  readonly keepsSentMail: boolean
}

/** Undefined when it is gone. */
export async function findSentMailer(
  q: Queryable,
  { tenantId, mailerId }: MailerKey,
): Promise<SentMailer | undefined> {
  const mailer = await getServerMailer(q, tenantId, mailerId)
  if (mailer === undefined) return undefined
  const app = mailer.appId === undefined ? undefined : await getApp(q, tenantId, mailer.appId)
  return {
    isActive: mailer.state === 'active',
    keepsSentMail: app !== undefined && PROVIDERS[app.provider].keepsSentMail,
  }
}
