/**
 * A folder as one connection knows it: message numbers stand for the same messages until the
 * connection has been told of a change (RFC 3501 §7.4.1).
 */
import type { ImapAccount, ImapFolder, ImapMessage } from './imap-account.ts'
import { fetchItem } from './imap-fetch.ts'
import type { Candidate } from './imap-search.ts'
import { type ImapToken, isInSet, itemsOf, textOf } from './imap-syntax.ts'

export interface ImapView {
  readonly folder: string
  /** The untagged responses that bring the client up to date. */
  changes(): Buffer[]
  candidates(): Candidate[]
  /** Those in a set of numbers, or of UIDs. */
  select(set: string, isUid: boolean): Candidate[]
  /** The responses to FETCH; undefined where an item is not known. */
  fetch(set: string, isUid: boolean, arguments_: readonly ImapToken[]): Buffer[] | undefined
}

export function openImapView(account: ImapAccount, name: string): ImapView {
  let uids = current().messages.map(({ uid }) => uid)
  let told = uids.length

  function current(): ImapFolder {
    const folder = account.folders.get(name)
    if (folder === undefined) throw new Error(`${account.username} has no folder ${name}`)
    return folder
  }

  function candidates(): Candidate[] {
    const byUid = new Map(current().messages.map((message) => [message.uid, message]))
    const found: Candidate[] = []
    for (const [index, uid] of uids.entries()) {
      const message = byUid.get(uid)
      const largest = { largestSequence: uids.length, largestUid: uids.at(-1) ?? 0 }
      if (message !== undefined) found.push({ message, sequence: index + 1, ...largest })
    }
    return found
  }

  const select = (set: string, isUid: boolean): Candidate[] =>
    candidates().filter((one) =>
      isUid
        ? isInSet(set, one.message.uid, one.largestUid)
        : isInSet(set, one.sequence, one.largestSequence),
    )

  return {
    folder: name,
    changes() {
      const { messages, lies } = current()
      const present = new Set(messages.map(({ uid }) => uid))
      const responses: Buffer[] = []
      for (let index = uids.length - 1; index >= 0; index -= 1) {
        if (present.has(uids[index] ?? 0)) continue
        responses.push(Buffer.from(`* ${index + 1} EXPUNGE\r\n`))
        told -= 1
      }
      uids = messages.map(({ uid }) => uid)
      if (uids.length !== told) {
        told = uids.length
        responses.push(Buffer.from(`* ${lies.exists ?? told} EXISTS\r\n`))
      }
      return responses
    },
    candidates,
    select,
    fetch(set, isUid, [wanted, modifier]) {
      const names = itemsOf(wanted).map(textOf)
      if (isUid && !names.includes('UID')) names.unshift('UID')
      const [key, since] = itemsOf(modifier).map(textOf)
      const isWanted = (message: ImapMessage): boolean =>
        key?.toUpperCase() !== 'CHANGEDSINCE' || message.modseq > Number(since)
      const responses: Buffer[] = []
      for (const { message, sequence } of select(set, isUid)) {
        if (!isWanted(message)) continue
        const items: Buffer[] = []
        for (const one of names) {
          const item = fetchItem(message, one)
          if (item === undefined) return undefined
          items.push(items.length === 0 ? item : Buffer.concat([Buffer.from(' '), item]))
        }
        const head = Buffer.from(`* ${sequence} FETCH (`)
        responses.push(Buffer.concat([head, ...items, Buffer.from(')\r\n')]))
      }
      return responses
    },
  }
}
