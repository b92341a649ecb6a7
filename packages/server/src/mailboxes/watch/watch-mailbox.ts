/**
 * Watches one mailbox for as long as this process is to: logs in, watches over that connection, and when
 * it ends, again. A connection that a server ends is none of its failures; one that does not come about,
 * or ends before everything was seen, is.
 */
import { IMAP_REFUSALS } from '@postrider/mail'
import { pause } from '@postrider/runtime/timeout'
import {
  ImapError,
  type ImapSession,
  type LogInDeps,
  loadMailbox,
  logIn,
  type Mailbox,
  markWorked,
  type WatchedMailbox,
} from '../../mailers/index.ts'
import {
  DatabaseUnavailableError,
  isConflict,
  isForeignKeyViolation,
} from '../../platform/db/index.ts'
import { type KeyRing, SealedValueError } from '../../platform/secrets/index.ts'
import { WatchLostError } from '../fetch/begin-folder.ts'
import { decideWaitMs } from './decide-wait.ts'
import type { LoginLimiter } from './login-limiter.ts'
import {
  beginWatch,
  endEpisode,
  type FolderState,
  listFolders,
  type MailboxKey,
  type Watch,
} from './mailbox-store.ts'
import { type SettleDeps, settleFailure } from './settle-failure.ts'
import { type WatchSessionDeps, type WatchSessionOptions, watchSession } from './watch-session.ts'

export const loginResults = ['ok', 'rejected', 'failed'] as const
export type LoginResult = (typeof loginResults)[number]

/** What a mailbox is at. */
export type MailboxState = 'connecting' | 'watched' | 'failing'

export interface WatchMailboxDeps
  extends SettleDeps,
    LogInDeps,
    Pick<WatchSessionDeps, 'pollMs' | 'roundMs'>,
    Omit<WatchSessionDeps, 'observe'> {
  readonly keyRing: KeyRing
  readonly loginLimiter: LoginLimiter
  readonly random: () => number
  /** Resolves after that time, or when it is to stop. */
  readonly pause?: typeof pause
  /** For how long messages that were fetched are remembered. */
  readonly retentionMs: number
  readonly observe: WatchSessionDeps['observe']
  readonly observeLogin: (result: LoginResult) => void
}

export interface WatchMailboxOptions {
  readonly signal: AbortSignal
  readonly onState: (state: MailboxState) => void
}

const LOGIN_TIMEOUT_MS = 30_000
const DATABASE_WAIT_MS = 5_000
/** Until file descriptors may be free. */
const BUSY_WAIT_MS = 5_000
/** From the time that it is to stop until a command under way is given up. */
const STOP_MS = 3_000
/** A connection that lasts for less is counted among those that did not come about. */
const SHORT_MS = 60_000
/** Of the same message: enough to make something of it. */
const TROUBLES_MAX = 1_000

/** Ends when it is to stop, the mailer is not active any more, or somebody else watches it. */
export async function watchMailbox(
  deps: WatchMailboxDeps,
  key: WatchedMailbox,
  o: WatchMailboxOptions,
): Promise<void> {
  const { pause: wait = pause } = deps
  const troubles = new Map<string, number>()
  const speed = { isSlow: false }
  let begun: Begun | undefined
  let failures = 0
  while (!o.signal.aborted) {
    o.onState(begun?.isFailing === true ? 'failing' : 'connecting')
    try {
      begun ??= await begin(deps, key)
      const mailbox = await loadMailbox(deps.db, deps.keyRing, key)
      if (begun === undefined || mailbox === undefined) return
      if (troubles.size > TROUBLES_MAX) troubles.clear()
      const ended = await serve(deps, mailbox, begun, { ...o, troubles, speed })
      if (ended === 'over') return
      if (ended === 'untried') {
        await wait(BUSY_WAIT_MS, o.signal)
        continue
      }
      failures = ended === 'good' ? 0 : failures + 1
    } catch (error) {
      if (o.signal.aborted || error instanceof WatchLostError) return
      const { tenantId: tenant_id, mailerId: mailer_id } = key
      const line = { err: error, tenant_id, mailer_id }
      deps.log[error instanceof SealedValueError ? 'error' : 'warn'](line, 'mailbox.not_watched')
      const isAway = error instanceof DatabaseUnavailableError || isConflict(error)
      // What that means for mail waits until it is back.
      if (!isAway) {
        failures += 1
        if (begun !== undefined && !(await settleUnforeseen(deps, key, begun, o))) return
      }
      begun = undefined
      await wait(isAway ? DATABASE_WAIT_MS : decideWaitMs(failures, deps.random()), o.signal)
      continue
    }
    await wait(decideWaitMs(Math.max(failures, 1), deps.random()), o.signal)
  }
}

interface Begun {
  readonly watch: Watch
  readonly folders: Map<string, FolderState>
  isFailing: boolean
}

/** Undefined: there is no such mailer. */
async function begin({ db }: WatchMailboxDeps, key: MailboxKey): Promise<Begun | undefined> {
  try {
    const { watch, isFailing } = await beginWatch(db, key)
    const folders = await listFolders(db, key)
    return { watch, isFailing, folders: new Map(folders.map((one) => [one.path, one])) }
  } catch (error) {
    if (isForeignKeyViolation(error)) return undefined
    throw error
  }
}

/** A fault of ours, or a key that is gone: it cannot be read in either case. Whether it is tried again. */
async function settleUnforeseen(
  deps: WatchMailboxDeps,
  { configVersion }: WatchedMailbox,
  { watch }: Begun,
  o: WatchMailboxOptions,
): Promise<boolean> {
  o.onState('failing')
  const failure = { stage: 'fetch', systemCode: IMAP_REFUSALS.internal, message: '' } as const
  try {
    const as = { configVersion, isRejected: false }
    return (await settleFailure(deps, watch, failure, as)) === 'failing'
  } catch (error) {
    const { tenantId: tenant_id, mailerId: mailer_id } = watch
    deps.log.warn({ err: error, tenant_id, mailer_id }, 'mailbox.failure_not_settled')
    return true
  }
}

/** `good`: it lasted, and is simply to be made again. `untried`: this machine could not, which is no failure. */
type Ended = 'good' | 'failed' | 'untried' | 'over'

async function serve(
  deps: WatchMailboxDeps,
  mailbox: Mailbox,
  begun: Begun,
  o: WatchMailboxOptions & Pick<WatchSessionOptions, 'troubles' | 'speed'>,
): Promise<Ended> {
  const { server, tenantId, configVersion } = mailbox
  const place = { host: server.host, port: server.port }
  const settle = (error: Pick<ImapError, 'failure'>, isRejected: boolean) => {
    begun.isFailing = true
    o.onState('failing')
    return settleFailure(deps, begun.watch, error.failure, {
      configVersion,
      isRejected,
      server: place,
    })
  }
  const login = await logIn(deps, mailbox, {
    timeoutMs: LOGIN_TIMEOUT_MS,
    signal: o.signal,
    messageBytesMax: deps.messageBytesMax,
    inTurn: (work) => deps.loginLimiter.run({ tenantId, host: server.host }, work),
  })
  if (login.kind === 'over') return 'over'
  if (login.kind === 'busy') return 'untried'
  if (login.kind === 'failed') {
    deps.observeLogin(login.isConfirmed ? 'rejected' : 'failed')
    return (await settle(login, login.isConfirmed)) === 'failing' ? 'failed' : 'over'
  }
  deps.observeLogin('ok')
  const startedMs = performance.now()
  const hasLasted = () => performance.now() - startedMs > SHORT_MS
  const release = cutAfterStop(login.session, o.signal)
  let isGood = false
  try {
    // Of one that sends as well it is about the server that mail is handed to.
    if (!mailbox.isSentBy) await markWorked(deps.db, mailbox)
    await watchSession(deps, {
      ...o,
      ...begun,
      mailbox,
      session: login.session,
      forgottenBefore: () => forgottenBefore(deps, mailbox),
      async onGood() {
        isGood = true
        await noteRead(deps, begun, place)
        begun.isFailing = false
        o.onState('watched')
      },
      async onFolderFailed(error) {
        isGood = false
        await settle(error, false)
      },
    })
    if (o.signal.aborted) return 'over'
    if (login.session.broken !== undefined) throw login.session.broken
    return isGood && hasLasted() ? 'good' : 'failed'
  } catch (error) {
    if (!(error instanceof ImapError)) throw error
    if (o.signal.aborted) return 'over'
    // What could be used until now is made again, and only if that fails is there something to tell.
    if (isGood && isOfConnection(error)) return hasLasted() ? 'good' : 'failed'
    return (await settle(error, false)) === 'failing' ? 'failed' : 'over'
  } finally {
    await login.session.close()
    release()
  }
}

/** Of a mailbox that was not failing, what cannot be noted now is noted with the next round. */
async function noteRead(
  { db, log }: WatchMailboxDeps,
  { watch, isFailing }: Begun,
  place: { readonly host: string; readonly port: number },
): Promise<void> {
  const { tenantId: tenant_id, mailerId: mailer_id } = watch
  const ended = await endEpisode(db, watch, { isRead: true }).catch((error: unknown) => {
    if (isFailing || !(error instanceof DatabaseUnavailableError)) throw error
    log.debug({ err: error, tenant_id, mailer_id }, 'mailbox.read_not_noted')
    return undefined
  })
  if (ended === undefined) return
  const { failingSince: failing_since, tries, failedForMs } = ended
  const line = { tenant_id, mailer_id, ...place, tries, failing_since }
  log.info({ ...line, duration_ms: Math.round(failedForMs) }, 'mailbox.recovered')
}

/** What a server takes its time over is not waited for: nothing of it is lost. Answers what takes it back. */
function cutAfterStop(session: ImapSession, signal: AbortSignal): () => void {
  let timer: NodeJS.Timeout | undefined
  const begin = () => {
    timer = setTimeout(() => session.cut(), STOP_MS)
  }
  if (signal.aborted) begin()
  else signal.addEventListener('abort', begin, { once: true })
  return () => {
    signal.removeEventListener('abort', begin)
    clearTimeout(timer)
  }
}

function isOfConnection({ failure: { reply, systemCode } }: ImapError): boolean {
  return reply?.status === 'BYE' || systemCode === 'ECONNRESET' || systemCode === 'ETIMEDOUT'
}

/** What is not remembered any more cannot be told from what is new: it is taken for old. */
function forgottenBefore(
  { clock, retentionMs }: WatchMailboxDeps,
  { folders }: Mailbox,
): Date | undefined {
  const before = clock.now().getTime() - retentionMs
  const isYoung = folders.every(({ since }) => Date.parse(since) > before)
  return isYoung ? undefined : new Date(before)
}
