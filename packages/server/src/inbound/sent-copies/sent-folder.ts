/**
 * The Sent folder of a mailbox: the one that its server names (SPECIAL-USE, RFC 6154), else the one
 * that is called so in some language, else one that is created as `Sent`, where mail programs look.
 */
import type { ImapFlow } from 'imapflow'

const CREATED = 'Sent'

/** Selects it; answers its path. */
export async function openSentFolder(client: ImapFlow): Promise<string> {
  const folders = await client.list()
  const sent = folders.find((one) => one.specialUse === '\\Sent' && isThere(one.flags))
  // Of one that exists already, such as without being listed, it says so and is content.
  const path = sent?.path ?? (await client.mailboxCreate(CREATED)).path
  const { path: selected } = await client.mailboxOpen(path)
  return selected
}

function isThere(flags: ReadonlySet<string>): boolean {
  return !flags.has('\\Noselect') && !flags.has('\\NonExistent')
}
