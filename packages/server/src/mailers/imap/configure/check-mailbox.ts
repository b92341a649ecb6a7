/**
 * Tries a mailbox before it is stored (docs/reference/mailers.md#login-check): 10 seconds for all of it. Its
 * folders have to be there, and what they hold already is noted, for it is not to be reported.
 */

import { IMAP_REFUSALS } from '@postrider/mail'
import type { ImapFlow } from 'imapflow'
import { validationError } from '../../../platform/errors.ts'
import { printable } from '../../smtp/login-failure.ts'
import type { FolderBaseline } from '../mailbox-settings.ts'
import { ImapError } from '../session/imap-error.ts'
import type { ImapSession } from '../session/imap-session.ts'
import { examineFolder } from '../session/open-folder.ts'
import { type MailboxLogin, type OpenMailboxDeps, openMailbox } from '../session/open-mailbox.ts'
import { refusalOfImap } from './refuse-login.ts'

export const CHECK_TIMEOUT_MS = 10_000
/** At the end of it a folder is left to its first look. */
const LEAST_MS = 500

/** Of each folder; one that there was no time for has none. */
export type Baselines = ReadonlyMap<string, FolderBaseline>

export async function checkMailbox(
  deps: OpenMailboxDeps,
  login: MailboxLogin,
  folders: readonly string[],
): Promise<Baselines> {
  const endsAt = performance.now() + CHECK_TIMEOUT_MS
  const opened = await openMailbox(deps, login, { timeoutMs: CHECK_TIMEOUT_MS })
  if (!opened.ok) throw refusalOfImap(opened.failure)
  const { session } = opened
  try {
    const baselines = new Map<string, FolderBaseline>()
    for (const [i, path] of folders.entries()) {
      const timeoutMs = endsAt - performance.now()
      const baseline =
        timeoutMs < LEAST_MS ? undefined : await baselineOf(session, { path, i, timeoutMs })
      if (baseline !== undefined) baselines.set(path, baseline)
    }
    return baselines
  } finally {
    session.cut()
  }
}

async function baselineOf(
  session: ImapSession,
  { path, i, timeoutMs }: { readonly path: string; readonly i: number; readonly timeoutMs: number },
): Promise<FolderBaseline | undefined> {
  try {
    return await session.run({ stage: 'open', timeoutMs }, async (client) => {
      const { uidValidity, exists } = await examineFolder(client, path)
      const last = exists === 0 ? 0 : await lastUid(client)
      return last === undefined ? undefined : { uidValidity, lastUid: last }
    })
  } catch (error) {
    if (!(error instanceof ImapError)) throw error
    const { reply, systemCode } = error.failure
    const refuse = (message: string) => validationError({ path: `/folders/${i}`, message })
    if (systemCode === IMAP_REFUSALS.folderMissing) throw refuse('is not in the mailbox')
    if (reply !== undefined && reply.status !== 'BYE')
      throw refuse(`cannot be opened: ${printable(reply.text)}`)
    // It has logged in: the rest is seen when it is watched.
    return undefined
  }
}

/** Undefined where the server does not say: it has just been deleted. Then the time of arrival decides. */
async function lastUid(client: ImapFlow): Promise<number | undefined> {
  const last = await client.fetchOne('*', { uid: true })
  return last === false ? undefined : last?.uid
}
