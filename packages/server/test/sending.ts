/** What tests of sending share: a database with today's partitions, mailers, emails. */

import { randomBytes } from 'node:crypto'
import type { RelayKind, SendEmailBody } from '@postrider/contract'
import { insertDomainMailer, setDomainVerified } from '../src/mailers/index.ts'
import type { ServerMailer } from '../src/mailers/mailer.ts'
import { insertMailer, type NewMailer } from '../src/mailers/store.ts'
import type { Db } from '../src/platform/db/index.ts'
import { newId } from '../src/platform/ids.ts'
import { createLogger } from '../src/platform/log.ts'
import { createKeyRing } from '../src/platform/secrets/index.ts'
import { seal } from '../src/relays/accounts/account.ts'
import { insertAccount } from '../src/relays/accounts/store.ts'
import type { TrackedRecipient, TrackingUrls } from '../src/sending/index.ts'
import { unsubscribeEmail } from '../src/suppressions/unsubscribe-email.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'

/** Without the threads that its front door has. */
export { findLinkOffsets, LINKS_MAX } from '../../mail/src/rewrite/find-link-offsets.ts'
export { sealPassword } from '../src/mailers/mailer.ts'
/** For a mailer with a login, and for other states; only tests of mailers go past their front door. */
export { changeState } from '../src/mailers/state/change-state.ts'
/** For an email that is taken back; only tests of sending go past its front door. */
export { cancelEmail } from '../src/sending/accept/cancel-email.ts'

export const silent = createLogger({ level: 'silent' })

export async function createSendingDatabase(o?: { poolMax?: number }): Promise<TestDatabase> {
  return createTestDatabase({ ...o, hasDays: true })
}

/** An active mailer of `news@example.com`, without a login unless it is given, on a server on this machine. */
export function addMailer(
  db: Db,
  o: Partial<Omit<NewMailer, 'config'>> & {
    readonly port?: number
    readonly username?: string
  } = {},
): Promise<ServerMailer> {
  const { port = 9, username, ...change } = o
  const login = username === undefined ? {} : { username }
  return insertMailer(db, {
    tenantId: 'tn_a',
    mailerId: newId('smtp'),
    name: 'News',
    email: 'news@example.com',
    configType: 'smtp',
    connectionType: 'basic',
    config: { host: '127.0.0.1', port, secure: 'None', tlsVerify: true, ...login },
    uncertain: 'at_least_once',
    limits: {},
    hostEverWorked: true,
    ...change,
  })
}

export const keyRing = createKeyRing(
  `k:${Buffer.from(Array.from({ length: 32 }, (_, i) => i)).toString('base64')}`,
)

/** A verified sending domain of the simulator, unless something else is asked for. */
export async function addDomainMailer(
  db: Db,
  o: {
    readonly tenantId?: string
    readonly mailerId?: string
    readonly domain?: string
    /** Its account is made where the tenant has none. */
    readonly relay?: RelayKind
    readonly apiBase?: string
    readonly apiKey?: string
    readonly isVerified?: boolean
  } = {},
): Promise<{ readonly tenantId: string; readonly mailerId: string }> {
  const { tenantId = 'tn_a', mailerId = newId('domain'), domain = 'example.com' } = o
  const { relay = 'simulator', isVerified = true } = o
  const key = { tenantId, mailerId }
  await db.transaction(async (tx) => {
    await insertAccount(tx, {
      tenantId,
      kind: relay,
      ...(relay === 'simulator'
        ? {}
        : {
            apiKey: seal(
              keyRing,
              { tenantId, kind: relay },
              'api_key',
              o.apiKey ?? 'test-key-of-the-relay',
            ),
          }),
      apiBase: o.apiBase ?? '',
      callbackToken: '',
      callbackTokenHash: randomBytes(32),
    })
    await insertDomainMailer(tx, { ...key, name: domain, domain, relay })
    await setDomainVerified(tx, key, isVerified)
  })
  return key
}

export function unsubscribe(db: Db, email: string, tenantId = 'tn_a'): Promise<void> {
  return unsubscribeEmail({ db }, { tenantId, keyId: 'key_1', email })
}

export function emailBody(change: Partial<SendEmailBody> = {}): SendEmailBody {
  return {
    from: { email: 'news@example.com', name: 'News' },
    to: [{ email: 'ada@example.com', name: 'Ada' }],
    subject: 'Hello',
    content: [{ type: 'text/plain', value: 'Hello Ada' }],
    ...change,
  }
}

/** Legible, where the service's own are sealed. */
export const trackingUrls: TrackingUrls = {
  openUrl: (who) => `${baseOf('o', who)}.gif`,
  clickUrl: (who, link) => `${baseOf('c', who)}-${String(link).padStart(4, '0')}`,
  unsubscribeUrl: (who) => baseOf('u', who),
}

function baseOf(kind: string, { tenantId, refId, n }: TrackedRecipient): string {
  return `http://track.example.com/t/${kind}/${tenantId}-${refId}-${String(n).padStart(4, '0')}`
}
