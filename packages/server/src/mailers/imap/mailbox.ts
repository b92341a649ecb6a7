/** The mailbox of a mailer that fetches: where it is, and what of it is fetched. */
import { newUlid } from '../../platform/ids.ts'
import type { MailerConfig, ServerMailer } from '../mailer.ts'
import type { FolderBaseline, WatchedFolder } from './mailbox-settings.ts'

type Fetching = Pick<ServerMailer, 'configType' | 'config' | 'imap' | 'mailbox' | 'createdAt'>

/** Of one that sends as well, the server that it fetches from. */
export function mailboxServerOf({ configType, config, imap }: Fetching): MailerConfig {
  if (configType !== 'smtp_imap') return config
  if (imap === undefined) throw new Error('a mailer that sends and fetches has no IMAP server')
  return { ...config, ...imap }
}

/** The other way round. */
export function withMailboxServer(mailer: ServerMailer, server: MailerConfig): ServerMailer {
  if (mailer.configType !== 'smtp_imap') return { ...mailer, config: server }
  const { host, port, secure, ...login } = server
  return { ...mailer, config: { ...mailer.config, ...login }, imap: { host, port, secure } }
}

/** One that was made by an OAuth login has its inbox watched from then on. */
export function foldersOf({ mailbox, createdAt }: Fetching): readonly WatchedFolder[] {
  return mailbox?.folders ?? [{ path: 'INBOX', start: '', since: createdAt.toISOString() }]
}

export function newFolder(
  path: string,
  since: Date,
  baseline: FolderBaseline | undefined,
): WatchedFolder {
  const start = newUlid()
  const from = { path, start, since: since.toISOString() }
  return baseline === undefined ? from : { ...from, baseline }
}

/** Before it nothing is reported: of several times, of folders that were added later, the earliest. */
export function sinceOf(mailer: Fetching): string {
  return foldersOf(mailer)
    .map(({ since }) => since)
    .reduce((a, b) => (a < b ? a : b))
}
