/**
 * The Sent folder of a mailbox: the one that its server names (SPECIAL-USE, RFC 6154), else the one
 * that is called so in some language, else one that is created as `Sent`, where mail programs look.
 *
 * The folders are looked at once each: a server may list many thousands, and the client would sort them.
 */
import type { ImapFlow, ListResponse } from 'imapflow'
import { specialUse } from 'imapflow/lib/special-use.js'

const CREATED = 'Sent'
/** What is said outright goes before a name, and a name before what contains it. */
const SOURCES = ['extension', 'name', 'name-guess'] as const

/** Selects it; answers its path. */
export async function openSentFolder(client: ImapFlow): Promise<string> {
  const sent = findSent(client, await client.list({ listOnly: true }))
  // Of one that exists already, such as without being listed, it says so and is content.
  const path = sent?.path ?? (await client.mailboxCreate(CREATED)).path
  const { path: selected } = await client.mailboxOpen(path)
  return selected
}

interface Candidate {
  readonly path: string
  /** By source, then depth. */
  readonly rank: readonly [source: number, depth: number]
}

function findSent(
  { capabilities }: ImapFlow,
  folders: readonly ListResponse[],
): Candidate | undefined {
  const isNamed = capabilities.has('SPECIAL-USE') || capabilities.has('XLIST')
  let best: Candidate | undefined
  for (const { path, name, parent, flags } of folders) {
    if (flags.has('\\Noselect') || flags.has('\\NonExistent')) continue
    const { flag, source } = specialUse(isNamed, { flags, name })
    if (flag !== '\\Sent' || source === undefined) continue
    const one: Candidate = { path, rank: [SOURCES.indexOf(source), parent.length] }
    if (best === undefined || isBefore(one, best)) best = one
  }
  return best
}

function isBefore(a: Candidate, b: Candidate): boolean {
  if (a.rank[0] !== b.rank[0]) return a.rank[0] < b.rank[0]
  if (a.rank[1] !== b.rank[1]) return a.rank[1] < b.rank[1]
  return a.path < b.path
}
