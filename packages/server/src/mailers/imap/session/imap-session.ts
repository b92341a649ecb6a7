/**
 * A connection to a mailbox, logged in. Whatever is done with it has a time, at the end of which the
 * connection is ended: a server that stops answering holds nobody up.
 */

import type { ImapStage, LoginRedactor } from '@postrider/mail'
import { waitAtMost, withTimeout } from '@postrider/runtime/timeout'
import type { ImapFlow } from 'imapflow'
import type { GuardedClient } from './guard-client.ts'
import { ImapError, imapFailureOf } from './imap-error.ts'

export interface ImapSession {
  readonly isOpen: boolean
  /** Why it is not, where the server has broken a bound. */
  readonly broken: ImapError | undefined
  /** What the server can do. */
  has(capability: string): boolean
  /** One at a time. Rejects with an ImapError for whatever goes wrong at the server. */
  run<T>(
    o: {
      readonly stage: ImapStage
      readonly timeoutMs: number
      /** Meanwhile the server may send as much at a time as a message may have. */
      readonly isForMessages?: boolean
    },
    work: (client: ImapFlow) => Promise<T>,
  ): Promise<T>
  /**
   * Waits in IDLE (RFC 2177) until something else is done, the server ends it, or the connection is
   * gone. False: the server refuses it.
   */
  idle(): Promise<boolean>
  /** Called when the number of messages in the selected folder has changed, and when the connection is gone. */
  onNews(listener: () => void): void
  /** Says goodbye, for a moment at most. Never rejects. */
  close(): Promise<void>
  /** Ends the connection at once. */
  cut(): void
}

const GOODBYE_MS = 2_000

export function createImapSession(
  client: ImapFlow,
  guarded: GuardedClient,
  redactor: LoginRedactor,
): ImapSession {
  let earlier: unknown
  const listeners: (() => void)[] = []
  const tell = () => {
    for (const listener of listeners) listener()
  }
  client.on('error', (error) => {
    earlier ??= error
  })
  client.on('exists', tell)
  client.on('close', tell)

  const session: ImapSession = {
    get isOpen() {
      return client.usable && !client.isClosed
    },
    get broken() {
      const { broken: error } = guarded
      if (error === undefined) return undefined
      return new ImapError(imapFailureOf(error, { stage: 'fetch', redactor }), error)
    },
    has: (capability) => client.capabilities.has(capability),
    async run({ stage, timeoutMs, isForMessages = false }, work) {
      const bye = () => client.byeReason
      const failed = (error: unknown) =>
        new ImapError(imapFailureOf(error, { stage, redactor, bye: bye(), earlier }), error)
      if (!session.isOpen) throw failed({ code: 'NoConnection', message: 'Connection closed' })
      const late = () => {
        const { waitedMs } = guarded
        const held = waitedMs === 0 ? '' : ', of which the bound imap_pace took '
        const share = waitedMs === 0 ? '' : `${Math.round(waitedMs)} ms`
        const message = `Timeout: no answer within ${timeoutMs} ms${held}${share}`
        client.close()
        throw new ImapError({ stage, systemCode: 'ETIMEDOUT', message })
      }
      guarded.beginCommand({ isForMessages })
      try {
        const done = await withTimeout(work(client), timeoutMs, late)
        // Of some commands the client says that they have failed, and not why.
        if (guarded.broken !== undefined) throw guarded.broken
        return done
      } catch (error) {
        throw error instanceof ImapError ? error : failed(error)
      } finally {
        guarded.beginCommand({ isForMessages: false })
      }
    },
    idle() {
      guarded.beginCommand({ isForMessages: false })
      return client.idle().then(
        (ended) => ended !== false || client.isClosed,
        () => true,
      )
    },
    onNews: (listener) => {
      listeners.push(listener)
    },
    async close() {
      if (!session.isOpen) return client.close()
      await waitAtMost(client.logout(), GOODBYE_MS).catch(() => undefined)
      client.close()
    },
    cut: () => client.close(),
  }
  return session
}
