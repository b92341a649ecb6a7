/**
 * What of a mailbox is fetched: its folders, each with the point from which on its mail is reported
 * (docs/reference/inbound.md#mailboxes).
 *
 * That point is `since`, and where the folder was looked at when it was configured, the last UID that it
 * had then: no clock of any server has a say in what arrives afterwards. `start` is another whenever a
 * folder is begun anew, for another account: what was known of it before is of no use then.
 */
export interface WatchedFolder {
  /** As a person reads it. */
  readonly path: string
  readonly start: string
  /** RFC 3339. */
  readonly since: string
  readonly baseline?: FolderBaseline
}

export interface FolderBaseline {
  /** RFC 3501 §2.3.1.1: of another one the UID says nothing. */
  readonly uidValidity: string
  /** 0 for an empty folder. */
  readonly lastUid: number
}

export interface MailboxSettings {
  readonly folders: readonly WatchedFolder[]
}
