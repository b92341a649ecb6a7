/** Opens a folder to read it: nothing in it is changed by that, not even what counts as recent. */

import { IMAP_REFUSALS } from '@postrider/mail'
import type { ImapFlow } from 'imapflow'
import { ImapError } from './imap-error.ts'

export interface ExaminedFolder {
  /** RFC 3501 §2.3.1.1; a number of 32 bits, of some servers more. */
  readonly uidValidity: string
  /** As many messages as the server says there are. */
  readonly exists: number
}

/** Rejects with an ImapError where it is missing, or its messages have no numbers that last. */
export async function examineFolder(client: ImapFlow, path: string): Promise<ExaminedFolder> {
  const opened = await client.mailboxOpen(path, { readOnly: true }).catch((error: unknown) => {
    if (!isMissing(error)) throw error
    const message = `The mailbox has no folder ${path}`
    throw new ImapError({ stage: 'open', systemCode: IMAP_REFUSALS.folderMissing, message }, error)
  })
  const uidValidity: unknown = opened?.uidValidity
  if (typeof uidValidity !== 'bigint' || uidValidity <= 0n) {
    const message = `The folder ${path} has no UIDVALIDITY`
    throw new ImapError({ stage: 'open', systemCode: IMAP_REFUSALS.unnumbered, message })
  }
  return { uidValidity: String(uidValidity), exists: opened.exists ?? 0 }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && Reflect.get(error, 'mailboxMissing') === true
}
