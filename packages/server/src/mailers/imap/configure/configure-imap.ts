/**
 * configureIMAP (docs/reference/inbound.md#mailboxes): checks the fields and the webhook, tries the login
 * unless told not to, stores the mailer with its password or its tokens sealed, and its webhook.
 */
import type { ConfigureImapBody } from '@postrider/contract'
import { validationError } from '../../../platform/errors.ts'
import { newId } from '../../../platform/ids.ts'
import type { ReceiverRules, TouchedStream, Wakeups } from '../../../webhooks/index.ts'
import { insertOnly } from '../../address-holders.ts'
import {
  defaultUncertain,
  type MailerConfig,
  type ServerMailer,
  sealPassword,
} from '../../mailer.ts'
import { getApp } from '../../oauth/apps/app-store.ts'
import { keepGrant, type StoredGrant } from '../../oauth/login/save-grant.ts'
import { serverGiven, tryToken, unknownApp } from '../../oauth/login/try-grant.ts'
import { checkFields } from '../../smtp/check-fields.ts'
import type { MailerDeps } from '../../smtp/configure-smtp.ts'
import type { NewMailer } from '../../store.ts'
import { newFolder } from '../mailbox.ts'
import { checkImapConfig, checkMailboxFields, defaultFolders } from './check-fields.ts'
import { checkMailboxWebhook, saveMailboxWebhook } from './mailbox-webhook.ts'
import { type Credential, tryMailbox } from './try-mailbox.ts'

export interface ImapDeps extends MailerDeps {
  readonly receivers: ReceiverRules
  readonly wakeups: Pick<Wakeups, 'wake'>
}

export interface SavedImap {
  readonly mailer: ServerMailer
  /** Of its webhook, when the call has made one: shown once. */
  readonly signingSecret?: string | undefined
}

export const IMAP = { protocol: 'IMAP', implicitTlsPort: 993 } as const

/** How a new mailer logs in, and what of it is stored. */
interface Way {
  readonly mailer: Pick<NewMailer, 'configType' | 'connectionType' | 'config' | 'secret' | 'appId'>
  readonly obtain: () => Promise<Credential & { readonly grant?: StoredGrant }>
  /** Where nothing is tried. */
  readonly untried?: StoredGrant
}

export async function configureImap(
  deps: ImapDeps,
  tenantId: string,
  body: ConfigureImapBody,
): Promise<SavedImap> {
  const checked = checkFields(body)
  const mailbox = checkMailboxFields(body, deps.clock.now())
  const errors = [
    ...checkImapConfig(body.connection_type, body.config),
    ...checked.errors,
    ...mailbox.errors,
  ]
  if (errors.length > 0) throw validationError(...errors)
  const { email = body.email, host } = checked
  const config = { ...body.config, ...(host === undefined ? {} : { host }) }
  const { folders = defaultFolders, since = deps.clock.now() } = mailbox
  const isSecondAllowed = body.allow_duplicate === true
  const key = { tenantId, mailerId: newId('imap') }
  const way =
    body.connection_type === 'oauth'
      ? await oauthWay(deps, { tenantId, email }, config)
      : basicWay(deps, key, config)
  await checkMailboxWebhook(deps, tenantId, body.webhook)
  const isVerified = body.verify !== false
  const { config: server } = way.mailer
  const tried = await tryMailbox(deps, tenantId, { server, folders, isVerified }, way.obtain)
  // Mail that was there before is wanted where `since` says so.
  const baselines = mailbox.since === undefined ? tried?.baselines : undefined
  const mailer: NewMailer = {
    ...key,
    ...way.mailer,
    name: body.name,
    email,
    uncertain: defaultUncertain,
    limits: {},
    hostEverWorked: isVerified,
    mailbox: { folders: folders.map((path) => newFolder(path, since, baselines?.get(path))) },
  }
  const grant = tried?.credential.grant ?? way.untried
  const { inserted, signingSecret } = await deps.db.transaction(async (tx) => {
    const made = await insertOnly(tx, mailer, { isSecondAllowed })
    if (grant !== undefined) await keepGrant(tx, deps.keyRing, made, grant)
    const webhook = await saveMailboxWebhook(tx, deps, made, body.webhook)
    return { inserted: made, signingSecret: webhook.signingSecret }
  })
  deps.wakeMail(inserted)
  return { mailer: inserted, signingSecret }
}

function basicWay(
  { keyRing }: ImapDeps,
  key: Pick<ServerMailer, 'tenantId' | 'mailerId'>,
  { host = '', port = 0, secure = 'Auto', ...given }: ConfigureImapBody['config'],
): Way {
  const { tls_verify: tlsVerify = true, username = '', password = '' } = given
  const config: MailerConfig = { host, port, secure, tlsVerify, username }
  const secret = sealPassword(keyRing, key, password)
  return {
    mailer: { configType: 'imap', connectionType: 'basic', config, secret },
    obtain: async () => ({ password }),
  }
}

async function oauthWay(
  deps: ImapDeps,
  { tenantId, email }: { readonly tenantId: string; readonly email: string },
  given: ConfigureImapBody['config'],
): Promise<Way> {
  const { app_id: appId = '', refresh_token: refreshToken = '' } = given
  const app = await getApp(deps.db, tenantId, appId)
  if (app === undefined) throw unknownApp()
  const server = serverGiven(app.imap, given, IMAP)
  const config = { ...server, tlsVerify: given.tls_verify ?? true, username: email }
  return {
    mailer: { configType: 'oauth_imap', connectionType: 'oauth', config, appId },
    untried: { refreshToken },
    async obtain() {
      const grant = await tryToken(deps, app, 'imap', refreshToken)
      return { accessToken: grant.accessToken, grant }
    },
  }
}

/** After the commit. */
export function wakeStreams(
  { wakeups }: Pick<ImapDeps, 'wakeups'>,
  touched: readonly TouchedStream[],
): void {
  if (touched.length > 0) wakeups.wake(touched)
}
