/**
 * Those who send in a round: servers that come again until their message is answered 250, and a mailbox
 * into which the others are put, a while apart.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { ImapServer } from '@postrider/testkit'
import { sendSmtpTo } from '../../send-smtp.ts'
import type { Letter } from './letters.ts'

export interface InboundLoad {
  /** How many of all have been handed over. */
  readonly handedOver: number
  /** How many attempts there were by SMTP. */
  readonly attempts: number
  complete(): Promise<void>
}

const SENDERS = 4
const AGAIN_AFTER_MS = 200

export function startInboundLoad(o: {
  readonly letters: readonly Letter[]
  readonly smtpPort: number
  readonly domain: string
  readonly imap: ImapServer
  /** Between one message of a sender and its next. */
  readonly pauseMs: number
}): InboundLoad {
  const posted = o.letters.filter(({ door }) => door === 'smtp')
  let handedOver = 0
  let attempts = 0

  const isTaken = async ({ usernames, raw }: Letter): Promise<boolean> => {
    attempts += 1
    const to = usernames.map((name) => `${name}@${o.domain}`)
    try {
      const answer = await sendSmtpTo(o.smtpPort, { from: 'ada@sender.test', to, raw })
      const isForAll = answer.recipients.every((reply) => reply.startsWith('250'))
      return isForAll && answer.message?.startsWith('250') === true
    } catch {
      // Whatever was lost on the way: it is not known to have arrived.
      return false
    }
  }
  const post = async (): Promise<void> => {
    for (let letter = posted.shift(); letter !== undefined; letter = posted.shift()) {
      while (!(await isTaken(letter))) await delay(AGAIN_AFTER_MS)
      handedOver += 1
      await delay(o.pauseMs)
    }
  }
  const fill = async (): Promise<void> => {
    for (const { door, raw } of o.letters) {
      if (door !== 'imap') continue
      o.imap.deliver('INBOX', raw)
      handedOver += 1
      await delay(o.pauseMs / SENDERS)
    }
  }
  const all = Promise.all([fill(), ...Array.from({ length: SENDERS }, post)])
  return {
    get handedOver() {
      return handedOver
    },
    get attempts() {
      return attempts
    },
    complete: () => all.then(() => undefined),
  }
}
