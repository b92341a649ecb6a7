/**
 * The mailboxes of one account of the scripted IMAP server, and what a test may do to them: mail
 * arrives and goes, UIDs are given anew, numbers lie.
 */
export interface ImapMessage {
  readonly uid: number
  readonly raw: Buffer
  readonly internalDate: Date
  readonly flags: Set<string>
  /** Of its last change (RFC 7162). */
  modseq: number
  readonly gmailMessageId: string
  readonly gmailThreadId: string
}

/** In place of what is true. */
export interface ImapLies {
  readonly exists?: number
  readonly uidNext?: number
  readonly uidValidity?: number
}

export interface ImapFolder {
  readonly name: string
  readonly uidValidity: number
  readonly uidNext: number
  readonly highestModseq: number
  readonly messages: readonly ImapMessage[]
  /** An attribute of RFC 6154, such as `\Sent`. */
  readonly specialUse: string | undefined
  readonly lies: ImapLies
}

export interface DeliverOptions {
  readonly internalDate?: Date
  readonly flags?: readonly string[]
  readonly gmailThreadId?: string
}

export interface ImapAccount {
  readonly username: string
  /** By the names that are on the wire (modified UTF-7). */
  readonly folders: ReadonlyMap<string, ImapFolder>
  addFolder(name: string, specialUse?: string): void
  removeFolder(name: string): void
  /** Puts a message into a folder, and answers its UID. Connections that have selected the folder are told. */
  deliver(folder: string, raw: string | Buffer, o?: DeliverOptions): number
  expunge(folder: string, uid: number): void
  addFlags(folder: string, uid: number, flags: readonly string[]): void
  /** A new UIDVALIDITY, and UIDs from 1; connections that have selected the folder are closed. */
  renumber(folder: string): void
  lie(folder: string, lies: ImapLies): void
}

export type FolderChange = 'contents' | 'gone'

interface MutableFolder extends ImapFolder {
  uidValidity: number
  uidNext: number
  highestModseq: number
  messages: ImapMessage[]
  lies: ImapLies
}

const FIRST_UID_VALIDITY = 1_700_000_000
const FIRST_GMAIL_ID = 1_800_000_000_000_000_000n

export function createImapAccount(
  username: string,
  onChange: (account: ImapAccount, folder: string, change: FolderChange) => void,
): ImapAccount {
  const folders = new Map<string, MutableFolder>()
  let lastUidValidity = FIRST_UID_VALIDITY
  let lastGmailId = FIRST_GMAIL_ID

  const get = (name: string): MutableFolder => {
    const folder = folders.get(name)
    if (folder === undefined) throw new Error(`${username} has no folder ${name}`)
    return folder
  }
  const nextUidValidity = (): number => {
    lastUidValidity += 1
    return lastUidValidity
  }
  const nextModseq = (folder: MutableFolder): number => {
    folder.highestModseq += 1
    return folder.highestModseq
  }
  const self: ImapAccount = {
    username,
    folders,
    addFolder(name, specialUse) {
      folders.set(name, {
        name,
        specialUse,
        uidValidity: nextUidValidity(),
        uidNext: 1,
        highestModseq: 1,
        messages: [],
        lies: {},
      })
    },
    removeFolder(name) {
      folders.delete(name)
      onChange(self, name, 'gone')
    },
    deliver(name, raw, o = {}) {
      const folder = get(name)
      const uid = folder.uidNext
      folder.uidNext += 1
      lastGmailId += 1n
      folder.messages.push({
        uid,
        raw: Buffer.from(raw),
        internalDate: o.internalDate ?? new Date(),
        flags: new Set(o.flags),
        modseq: nextModseq(folder),
        gmailMessageId: String(lastGmailId),
        gmailThreadId: o.gmailThreadId ?? String(lastGmailId),
      })
      onChange(self, name, 'contents')
      return uid
    },
    expunge(name, uid) {
      const folder = get(name)
      folder.messages = folder.messages.filter((message) => message.uid !== uid)
      nextModseq(folder)
      onChange(self, name, 'contents')
    },
    addFlags(name, uid, flags) {
      const folder = get(name)
      for (const message of folder.messages) {
        if (message.uid !== uid) continue
        for (const flag of flags) message.flags.add(flag)
        message.modseq = nextModseq(folder)
      }
    },
    renumber(name) {
      const folder = get(name)
      folder.uidValidity = nextUidValidity()
      folder.messages = folder.messages.map((message, index) => ({ ...message, uid: index + 1 }))
      folder.uidNext = folder.messages.length + 1
      onChange(self, name, 'gone')
    },
    lie(name, lies) {
      get(name).lies = lies
    },
  }
  self.addFolder('INBOX')
  return self
}
