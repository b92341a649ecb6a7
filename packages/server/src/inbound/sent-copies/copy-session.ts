/** A session with a mailbox whose Sent folder is selected, which ends by itself. */
import type { ImapFlow } from 'imapflow'
import type { MailerKey } from '../../mailers/index.ts'
import { openSentFolder } from './sent-folder.ts'

/** A connection to a mailbox, logged in. */
export interface Mailbox {
  readonly isOpen: boolean
  run<T>(
    o: { readonly stage: 'open'; readonly timeoutMs: number },
    work: (client: ImapFlow) => Promise<T>,
  ): Promise<T>
  /** Never rejects. */
  close(): Promise<void>
  cut(): void
}

export interface CopySession {
  /** The path of the Sent folder. */
  readonly folder: string
  /** Rejects at the end of the session's time at the latest. */
  run<T>(work: (client: ImapFlow) => Promise<T>): Promise<T>
  /** Nothing more is to be begun. */
  isOver(): boolean
  close(): Promise<void>
}

export interface CopySessionDeps {
  /** Rejects when it cannot be opened. */
  readonly openMailbox: (
    key: MailerKey,
    o: { readonly timeoutMs: number; readonly signal: AbortSignal },
  ) => Promise<Mailbox>
  /** For a whole session; shorter than a claim. */
  readonly sessionMs?: number
  /** For a copy under way when the process is to end. */
  readonly graceMs?: number
}

const SESSION_MS = 2 * 60_000
const OPEN_MS_MAX = 30_000
const GRACE_MS = 3_000

/** Rejects where the mailbox cannot be opened, or has no Sent folder and gets none. */
export async function openCopySession(
  { openMailbox, sessionMs = SESSION_MS, graceMs = GRACE_MS }: CopySessionDeps,
  key: MailerKey,
  signal: AbortSignal,
): Promise<CopySession> {
  const deadlineAt = performance.now() + sessionMs
  const timeLeftMs = () => Math.max(0, deadlineAt - performance.now())
  const timeoutMs = Math.min(OPEN_MS_MAX, sessionMs)
  const mailbox = await openMailbox(key, { timeoutMs, signal })
  let cutting: NodeJS.Timeout | undefined
  const cutSoon = () => {
    cutting = setTimeout(mailbox.cut, graceMs)
  }
  signal.addEventListener('abort', cutSoon, { once: true })

  const run = <T>(work: (client: ImapFlow) => Promise<T>) =>
    mailbox.run({ stage: 'open', timeoutMs: timeLeftMs() }, work)
  const isOver = () => signal.aborted || !mailbox.isOpen || timeLeftMs() === 0
  async function close(): Promise<void> {
    signal.removeEventListener('abort', cutSoon)
    await mailbox.close()
    clearTimeout(cutting)
  }

  try {
    return { folder: await run(openSentFolder), run, isOver, close }
  } catch (error) {
    await close()
    throw error
  }
}
