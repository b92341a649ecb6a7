/**
 * updateIMAP (docs/reference/inbound.md#mailboxes): what is left out stays as it is.
 *
 * As with updateSMTP, stored credentials are used on without being given again only while they go to the
 * same place, in the same name and no less protected; a given `config` is logged in with, unless `verify`
 * is false, and having logged in, a deactivated mailer is active again.
 *
 * Folders that stay are watched on from where they are, so `since` is refused where none begins. Another
 * account has other mail: all of its folders begin anew, with what arrives from now on.
 */
import type { ImapConfigChange, UpdateImapBody } from '@postrider/contract'
import { ApiError, validationError } from '../../../platform/errors.ts'
import { nullAs } from '../../../platform/values/null-as.ts'
import {
  canSend,
  isAsSafe,
  type MailerConfig,
  type ServerMailer,
  sealPassword,
} from '../../mailer.ts'
import { getApp } from '../../oauth/apps/app-store.ts'
import { loginTypeOf } from '../../oauth/apps/oauth-app.ts'
import { keepGrant, type StoredGrant } from '../../oauth/login/save-grant.ts'
import { tokenMissing, tryStored, tryToken, unknownApp } from '../../oauth/login/try-grant.ts'
import { addressBefore, saveMailer } from '../../save-mailer.ts'
import { checkConfigChange } from '../../smtp/check-config.ts'
import { checkFields } from '../../smtp/check-fields.ts'
import { reopenPassword } from '../../state/reopen-password.ts'
import { getServerMailer } from '../../store.ts'
import { foldersOf, mailboxServerOf, newFolder, withMailboxServer } from '../mailbox.ts'
import type { WatchedFolder } from '../mailbox-settings.ts'
import { type CheckedMailbox, checkMailboxFields } from './check-fields.ts'
import type { Baselines } from './check-mailbox.ts'
import { type ImapDeps, type SavedImap, wakeStreams } from './configure-imap.ts'
import { getImap } from './get-imap.ts'
import { checkMailboxWebhook, findMailboxWebhook, saveMailboxWebhook } from './mailbox-webhook.ts'
import { type Credential, tryMailbox } from './try-mailbox.ts'

export async function updateImap(
  deps: ImapDeps,
  tenantId: string,
  mailerId: string,
  body: UpdateImapBody,
): Promise<SavedImap> {
  if (body.mailer_id != null && body.mailer_id !== mailerId)
    throw validationError({ path: '/mailer_id', message: 'must be the mailer of the path' })
  const checked = checkFields(body)
  const mailbox = checkMailboxFields(body, deps.clock.now())
  const errors = [...checked.errors, ...mailbox.errors]
  if (errors.length > 0) throw validationError(...errors)
  const stored = await getImap(deps, tenantId, mailerId)
  const given = body.config ?? {}
  const wrong = checkConfigChange(stored.connectionType, given)
  if (wrong.length > 0) throw validationError(...wrong)
  await checkMailboxWebhook(deps, tenantId, body.webhook, await findMailboxWebhook(deps.db, stored))

  const email = checked.email ?? stored.email
  const before = mailboxServerOf(stored)
  const server = changedServer(stored, { given, email, host: checked.host })
  const isVerified = body.config !== undefined && body.verify !== false
  const folders = mailbox.folders ?? foldersOf(stored).map(({ path }) => path)
  const kept = keptFolders(stored, server)
  if (mailbox.since !== undefined && folders.every((path) => kept.has(path)))
    throw validationError({ path: '/since', message: 'is only for folders that are added' })
  const way = await wayOf(deps, stored, { given, before, server })
  const tried =
    body.config === undefined
      ? undefined
      : await tryMailbox(deps, tenantId, { server, folders, isVerified }, way.obtain)
  const isSameHost = server.host === before.host && server.port === before.port
  const next: ServerMailer = {
    ...withMailboxServer({ ...stored, email, name: body.name ?? stored.name }, server),
    ...way.changes,
    // Of one that sends as well it is about the server that mail is handed to.
    hostEverWorked: canSend(stored)
      ? stored.hostEverWorked
      : isVerified || (isSameHost && stored.hostEverWorked),
    mailbox: {
      folders: folders.map(
        (path) => kept.get(path) ?? begin(deps, path, mailbox, tried?.baselines),
      ),
    },
  }
  const grant = tried?.credential.grant ?? way.untried
  const { updated, webhook } = await deps.db.transaction(async (tx) => {
    const saved = await saveMailer(tx, deps, next, {
      isAuthenticated: isVerified,
      address: addressBefore(stored, body),
    })
    if (saved === undefined) return { updated: undefined, webhook: { touched: [] } }
    if (grant !== undefined) await keepGrant(tx, deps.keyRing, saved, grant)
    return { updated: saved, webhook: await saveMailboxWebhook(tx, deps, saved, body.webhook) }
  })
  wakeStreams(deps, webhook.touched)
  if (updated !== undefined) {
    deps.wakeMail(updated)
    return { mailer: updated, signingSecret: webhook.signingSecret }
  }
  const current = await getServerMailer(deps.db, tenantId, mailerId)
  throw new ApiError(current === undefined ? 'not_found' : 'conflict')
}

function changedServer(
  stored: ServerMailer,
  o: {
    readonly given: ImapConfigChange
    readonly email: string
    readonly host: string | undefined
  },
): MailerConfig {
  const before = mailboxServerOf(stored)
  const { port = before.port, secure = before.secure } = o.given
  const username =
    stored.connectionType === 'oauth' ? o.email : (o.given.username ?? before.username)
  return {
    host: o.host ?? before.host,
    port,
    secure,
    tlsVerify: nullAs(o.given.tls_verify, true) ?? before.tlsVerify,
    ...(username === undefined ? {} : { username }),
  }
}

/** What it logs in with, and what of that is stored. */
interface Way {
  readonly changes: Partial<Pick<ServerMailer, 'secret' | 'appId'>>
  readonly obtain: () => Promise<Credential & { readonly grant?: StoredGrant }>
  readonly untried?: StoredGrant
}

interface Change {
  readonly given: ImapConfigChange
  readonly before: MailerConfig
  readonly server: MailerConfig
}

function wayOf(deps: ImapDeps, stored: ServerMailer, change: Change): Promise<Way> {
  return stored.connectionType === 'oauth'
    ? oauthWay(deps, stored, change)
    : basicWay(deps, stored, change)
}

async function basicWay(
  deps: ImapDeps,
  stored: ServerMailer,
  { given, before, server }: Change,
): Promise<Way> {
  if (given.password === undefined && !isAsSafe(server, before))
    throw validationError({
      path: '/config/password',
      message: 'must be given again when host, port or username change or TLS gets weaker',
    })
  const { password } = given
  const changes =
    password === undefined ? {} : { secret: sealPassword(deps.keyRing, stored, password) }
  return {
    changes,
    obtain: async () => ({ password: password ?? reopenPassword(deps, stored) }),
  }
}

async function oauthWay(
  deps: ImapDeps,
  stored: ServerMailer,
  { given, before, server }: Change,
): Promise<Way> {
  const { app_id: appId = stored.appId ?? '', refresh_token: refreshToken } = given
  if (refreshToken === undefined) {
    // The address is a name to log in by, and the token decides whose mailbox it opens.
    const isSafe = isAsSafe({ ...server, ...nameOf(before) }, before)
    if (appId !== stored.appId || !isSafe) throw tokenMissing()
    return { changes: {}, obtain: () => tryStored(deps, stored) }
  }
  const app = await getApp(deps.db, stored.tenantId, appId)
  if (app === undefined) throw unknownApp()
  return {
    changes: { appId },
    untried: { refreshToken },
    async obtain() {
      const grant = await tryToken(deps, app, loginTypeOf(stored.configType), refreshToken)
      return { accessToken: grant.accessToken, grant }
    },
  }
}

function nameOf({ username }: MailerConfig): Pick<MailerConfig, 'username'> {
  return username === undefined ? {} : { username }
}

/** Those that are watched on, if they are still wanted. */
function keptFolders(
  stored: ServerMailer,
  server: MailerConfig,
): ReadonlyMap<string, WatchedFolder> {
  const isSameAccount = server.username === mailboxServerOf(stored).username
  return new Map((isSameAccount ? foldersOf(stored) : []).map((folder) => [folder.path, folder]))
}

function begin(
  { clock }: ImapDeps,
  path: string,
  { since }: CheckedMailbox,
  tried: Baselines | undefined,
): WatchedFolder {
  return since === undefined
    ? newFolder(path, clock.now(), tried?.get(path))
    : newFolder(path, since, undefined)
}
