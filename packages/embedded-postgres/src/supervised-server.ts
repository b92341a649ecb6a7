/**
 * A server as a child of this process, with the session that owns its database. While it is supervised, what is
 * lost of the two is brought back, with growing pauses.
 */
import type { ChildProcess } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from '@postrider/runtime/logger'
import type pg from 'pg'
import type { Ballast } from './ballast.ts'
import { DirectoryInUseError } from './directory-lock.ts'
import { withRoom } from './disk-full.ts'
import type { Installation } from './installation.ts'
import { ensureDatabase, isNotReady, takeOwnership } from './owner-session.ts'
import { spawnPostmaster, stopPostmaster } from './postmaster.ts'

export interface SupervisedServer {
  /** Resolves when the server takes connections and is ours; it is supervised from then on. */
  start(): Promise<void>
  /** Once the signal has aborted. */
  end(): Promise<void>
  readonly pid: number | undefined
}

interface Deps {
  readonly at: Installation
  readonly spare: Ballast
  readonly log: Logger
  /** Aborts when the service stops. */
  readonly signal: AbortSignal
}

interface State {
  child: ChildProcess | undefined
  owner: pg.Client | undefined
}

/** After a killed server, its successor is refused until the orphans have gone: about 2 s. */
const refusedStartMs = 30_000
/** Replaying the log after a crash; the server answers "starting up" meanwhile. */
const recoveryMs = 10 * 60_000
const pauseMsMin = 250
const pauseMsMax = 10_000

export function createSupervisedServer(deps: Deps): SupervisedServer {
  const state: State = { child: undefined, owner: undefined }
  let supervision: Promise<void> | undefined
  return {
    async start() {
      await launch(deps, state)
      supervision = supervise(deps, state)
    },
    async end() {
      const { child, owner } = state
      // Not waited for: a server that is frozen answers neither of them before it has ended.
      owner?.end().catch(() => undefined)
      if (child?.pid !== undefined && !hasEnded(child)) await stopPostmaster(child.pid)
      await supervision
    },
    get pid() {
      return state.child?.pid
    },
  }
}

async function launch(deps: Deps, state: State): Promise<void> {
  const { at, spare, log, signal } = deps
  const giveUpAtMs = performance.now() + refusedStartMs
  for (let isFirst = true; ; isFirst = false) {
    signal.throwIfAborted()
    await spare.releaseIfShort()
    signal.throwIfAborted()
    const logStart = sizeOf(at.layout.log)
    state.child = spawnServer(deps)
    if (await becomesReady(state.child, deps)) break
    if (await spare.releaseIfShort(textFrom(at.layout.log, logStart))) continue
    if (isFirst)
      log.warn({ server_log: lastLines(at.layout.log, 3) }, 'embedded_postgres.start_refused')
    if (performance.now() > giveUpAtMs)
      throw new Error(
        `The embedded PostgreSQL does not start; ${at.layout.log} ends with:\n${lastLines(at.layout.log, 10)}`,
      )
    await delay(pauseMsMin, undefined, { signal })
  }
  logDeath(state.child, deps)
  state.owner = await own(at)
}

function spawnServer({ at, log }: Deps): ChildProcess {
  const spawned = spawnPostmaster({
    binaries: at.binaries,
    account: at.account,
    database: at.layout.database,
    socketDir: at.socketDir,
    logFile: at.layout.log,
  })
  // Without a listener a failure to spawn would end the process; `hasEnded` sees it.
  spawned.on('error', (error) => log.error({ err: error }, 'embedded_postgres.spawn_failed'))
  if (spawned.pid === undefined)
    throw new Error(`${at.binaries.postgres} cannot be run on this system`)
  return spawned
}

function logDeath(server: ChildProcess, { log, signal }: Deps): void {
  server.once('exit', (code, by) => {
    if (!signal.aborted)
      log.error({ server_pid: server.pid, code, signal: by }, 'embedded_postgres.died')
  })
}

/** True once our database exists and answers, false when the server ended instead. */
async function becomesReady(server: ChildProcess, { at, spare, signal }: Deps): Promise<boolean> {
  const giveUpAtMs = performance.now() + recoveryMs
  while (!hasEnded(server)) {
    try {
      await withRoom(spare, () => ensureDatabase(at.socketDir, at.secrets))
      return true
    } catch (error) {
      if (!isNotReady(error) || performance.now() > giveUpAtMs) throw error
      await delay(25, undefined, { signal })
    }
  }
  return false
}

async function own(at: Installation): Promise<pg.Client> {
  const ownership = await takeOwnership(at.socketDir, at.secrets)
  if (ownership.kind === 'in-use')
    throw new DirectoryInUseError(at.layout.root, ownership.pid ?? -1)
  return ownership.client
}

/** Brings back what is lost, the server or only our session with it, until the service stops. */
async function supervise(deps: Deps, state: State): Promise<void> {
  const { at, log, signal } = deps
  let pauseMs = pauseMsMin
  while (!signal.aborted) {
    try {
      if (state.child === undefined || hasEnded(state.child)) {
        await launch(deps, state)
        log.info({ server_pid: state.child?.pid }, 'embedded_postgres.restarted')
      } else state.owner ??= await own(at)
      pauseMs = pauseMsMin
      await loss(state, signal)
    } catch (error) {
      if (signal.aborted) return
      log.error({ err: error, retry_in_ms: pauseMs }, 'embedded_postgres.restart_failed')
    }
    if (signal.aborted) return
    await delay(pauseMs, undefined, { signal }).catch(() => undefined)
    pauseMs = Math.min(pauseMs * 2, pauseMsMax)
  }
}

/** Resolves when the server's process or the owner's session ends, or the service stops. */
function loss(state: State, signal: AbortSignal): Promise<void> {
  const { child, owner } = state
  return new Promise((resolve) => {
    const ended = () => {
      child?.off('exit', lost)
      owner?.off('end', lost)
      signal.removeEventListener('abort', ended)
      resolve()
    }
    const lost = () => {
      state.owner = undefined
      ended()
    }
    child?.once('exit', lost)
    owner?.once('end', lost)
    signal.addEventListener('abort', ended)
    if (signal.aborted || (child && hasEnded(child))) ended()
  })
}

function hasEnded(server: ChildProcess): boolean {
  return server.pid === undefined || server.exitCode !== null || server.signalCode !== null
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}

/** What was written since the file had this size; all of it where another has taken its place. */
function textFrom(file: string, start: number): string {
  const bytes = readFileSync(file)
  return bytes.subarray(bytes.length < start ? 0 : start).toString()
}

function lastLines(file: string, count: number): string {
  return readFileSync(file, 'utf8').trimEnd().split('\n').slice(-count).join('\n')
}
