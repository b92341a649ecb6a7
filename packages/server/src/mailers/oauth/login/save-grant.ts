/**
 * Stores a grant (docs/reference/mailers.md#oauth-apps): with a mailer that is created for it, or with the
 * one that it authenticates again, which becomes active if it was deactivated. A disabled one stays so.
 *
 * Logins to one app are stored one after the other: two at the same time for a new mailbox make one
 * mailer.
 */
import type { OAuthLoginType } from '@postrider/contract'
import type { Db, Tx } from '../../../platform/db/index.ts'
import { newId } from '../../../platform/ids.ts'
import type { KeyRing } from '../../../platform/secrets/index.ts'
import { findHolder, lockAddress } from '../../address-holders.ts'
import { defaultUncertain, emailKeyOf, type ServerMailer } from '../../mailer.ts'
import { type SaveMailerDeps, saveMailer } from '../../save-mailer.ts'
import { getServerMailer, insertMailer, type NewMailer } from '../../store.ts'
import { lockApp } from '../apps/app-store.ts'
import { CONFIG_TYPES, type OAuthApp, serversOf } from '../apps/oauth-app.ts'
import { type MailerKey, sealToken } from '../tokens/mailer-token.ts'
import type { Grant } from '../tokens/request-token.ts'
import { findMailerOfApp, storeGrant } from '../tokens/token-store.ts'

export interface SaveGrantDeps extends SaveMailerDeps {
  readonly db: Db
  readonly keyRing: KeyRing
}

/** A grant that mail can be sent with for longer than an hour. */
export type LastingGrant = Grant & { readonly refreshToken: string }

/** Without an access token where the refresh token has not been tried. */
export type StoredGrant = Pick<LastingGrant, 'refreshToken'> &
  Partial<Pick<Grant, 'accessToken' | 'expiresInS'>>

export interface Login {
  readonly app: OAuthApp
  readonly type: OAuthLoginType
  readonly grant: LastingGrant
  /** Of the mailer to authenticate again. */
  readonly mailerId?: string | undefined
  /** Of the mailbox; where the mailer is named, it has been compared. */
  readonly email: string
  readonly isSecondAllowed: boolean
}

/**
 * Undefined when the app or the mailer is gone, or was changed at the same moment; the id of the mailer that
 * the address has already, where a new one would be a second.
 */
export async function saveLogin(
  deps: SaveGrantDeps,
  login: Login,
): Promise<ServerMailer | { readonly first: string } | undefined> {
  const { app, type, email, isSecondAllowed } = login
  const { tenantId } = app
  const saved = await deps.db.transaction(async (tx) => {
    // Before the app, as everywhere: who waits for one of them holds the other else.
    await lockAddress(tx, { tenantId, email })
    if (!(await lockApp(tx, app.tenantId, app.appId))) return undefined
    const mailerId = login.mailerId ?? (await findMailer(tx, login))
    if (mailerId !== undefined) return renew(tx, deps, login, mailerId)
    const wanted = { tenantId, email, configType: CONFIG_TYPES[type] }
    const first = isSecondAllowed ? undefined : await findHolder(tx, wanted)
    return first === undefined ? createMailer(tx, deps, login) : { first }
  })
  if (saved !== undefined && 'mailerId' in saved) deps.wakeMail(saved)
  return saved
}

function findMailer(tx: Tx, { app, type, email }: Login): Promise<string | undefined> {
  return findMailerOfApp(tx, {
    ...app,
    emailKey: emailKeyOf(email),
    configType: CONFIG_TYPES[type],
  })
}

async function renew(
  tx: Tx,
  deps: SaveGrantDeps,
  { app, grant }: Login,
  mailerId: string,
): Promise<ServerMailer | undefined> {
  const mailer = await getServerMailer(tx, app.tenantId, mailerId)
  if (mailer === undefined) return undefined
  const changed = { ...mailer, appId: app.appId }
  const updated = await saveMailer(tx, deps, changed, { isAuthenticated: true })
  if (updated !== undefined) await keepGrant(tx, deps.keyRing, updated, grant)
  return updated
}

async function createMailer(
  tx: Tx,
  { keyRing }: SaveGrantDeps,
  { app, type, grant, email }: Login,
): Promise<ServerMailer> {
  const servers = serversOf(app, type)
  if (servers === undefined) throw new Error(`the OAuth app ${app.appId} has no ${type} server`)
  const { server, imap } = servers
  const mailer: NewMailer = {
    tenantId: app.tenantId,
    mailerId: newId(type === 'imap' ? 'imap' : 'smtp'),
    name: email,
    email,
    configType: CONFIG_TYPES[type],
    connectionType: 'oauth',
    config: { ...server, tlsVerify: true, username: email },
    appId: app.appId,
    ...(imap === undefined ? {} : { imap }),
    uncertain: defaultUncertain,
    limits: {},
    hostEverWorked: false,
  }
  return insertWithGrant(tx, keyRing, mailer, grant)
}

export async function insertWithGrant(
  tx: Tx,
  keyRing: KeyRing,
  mailer: NewMailer,
  grant: StoredGrant,
): Promise<ServerMailer> {
  const inserted = await insertMailer(tx, mailer)
  await keepGrant(tx, keyRing, inserted, grant)
  return inserted
}

/** Together with the change of its mailer, whose sessions and failures of before count no more. */
export async function keepGrant(
  tx: Tx,
  keyRing: KeyRing,
  key: MailerKey,
  { refreshToken, accessToken, expiresInS }: StoredGrant,
): Promise<void> {
  await storeGrant(tx, key, {
    refreshToken: sealToken(keyRing, key, 'refresh_token', refreshToken),
    accessToken:
      accessToken === undefined ? undefined : sealToken(keyRing, key, 'access_token', accessToken),
    expiresInS: expiresInS ?? 0,
  })
}
