/** The messages of a round: each says which it is, and comes by SMTP or into a mailbox. */
import type { Random } from '@postrider/testkit'

export interface Letter {
  readonly id: string
  readonly door: 'smtp' | 'imap'
  /** By SMTP: the usernames that it is for. */
  readonly usernames: readonly string[]
  readonly raw: string
  readonly text: string
}

/** Each with a webhook of its own; one letter in so many goes to both. */
export const usernames = ['desk', 'sales'] as const
export const mailboxPath = '/mailbox'
const BOTH_ONE_IN = 4
const LARGE_ONE_IN = 25
const LARGE_BYTES = 300_000

export function makeLetters(random: Random, count: number): Letter[] {
  return Array.from({ length: count }, (_, n) => {
    const id = `letter-${n}-${random.hex(12)}`
    const isLarge = random.below(LARGE_ONE_IN) === 0
    const text = `This is ${id}.\n${isLarge ? `${'x'.repeat(75)}\n`.repeat(LARGE_BYTES / 76) : ''}`
    const fields = [
      'From: Ada <ada@sender.test>',
      'To: all@routed.test',
      `Subject: ${id}`,
      `Message-ID: <${id}@sender.test>`,
      'Content-Type: text/plain; charset=utf-8',
    ]
    const raw = `${fields.join('\r\n')}\r\n\r\n${text.replaceAll('\n', '\r\n')}`
    if (n % 2 === 1) return { id, door: 'imap', usernames: [], raw, text }
    const isForBoth = random.below(BOTH_ONE_IN) === 0
    return {
      id,
      door: 'smtp',
      usernames: isForBoth ? usernames : [random.pick(usernames)],
      raw,
      text,
    }
  })
}

/** Where it is to be reported. */
export function pathsOf({ door, usernames: names }: Letter): string[] {
  return door === 'imap' ? [mailboxPath] : names.map((name) => `/${name}`)
}
