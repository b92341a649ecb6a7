/**
 * The embedded PostgreSQL: a real server that lives in the data directory and as long as the service
 * (docs/reference/running.md#start).
 *
 * New → start → running → stop. Exclusive use of the directory is held by a lock file and proved by an advisory lock
 * in the database. A server that a killed service left behind is found by its own pid file, shut down
 * and started again, so that the service always supervises its own child. A server that dies while the service
 * runs is started again with growing pauses; where it has no space to start, a file kept for that day is given up.
 * It listens on a private Unix socket only.
 */
import type { ChildProcess } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from '@postrider/runtime/logger'
import type { Service } from '@postrider/runtime/service'
import pg from 'pg'
import { type Ballast, createBallast } from './ballast.ts'
import { DirectoryInUseError, type DirectoryLock, lockDirectory } from './directory-lock.ts'
import { endLeftover, type Installation, install } from './installation.ts'
import { openLayout } from './layout.ts'
import { ensureDatabase, isNotReady, serviceUrl, takeOwnership } from './owner-session.ts'
import { spawnPostmaster, stopPostmaster } from './postmaster.ts'

export interface EmbeddedPostgres extends Service {
  /** Valid once started, and the same for as long as the data directory stays where it is. */
  url(): string
}

/** After a killed server, its successor is refused until the orphans have gone: about 2 s. */
const refusedStartMs = 30_000
/** Replaying the log after a crash; the server answers "starting up" meanwhile. */
const recoveryMs = 10 * 60_000
const pauseMsMin = 250
const pauseMsMax = 10_000

export function createEmbeddedPostgres(o: { dataDir: string; log: Logger }): EmbeddedPostgres {
  const { log } = o
  let lock: DirectoryLock | undefined
  let ballast: Ballast | undefined
  let installation: Installation | undefined
  let child: ChildProcess | undefined
  let owner: pg.Client | undefined
  let supervision: Promise<void> | undefined
  let starting: Promise<void> | undefined
  let stopped: Promise<void> | undefined
  const stopping = new AbortController()

  async function run(signal: AbortSignal): Promise<void> {
    const startedMs = performance.now()
    const layout = openLayout(o.dataDir)
    const spare = createBallast({ dir: layout.root, log })
    ballast = spare
    lock = await withRoom(spare, () => lockDirectory(layout.root))
    await spare.releaseIfShort()
    installation = await install(layout, log)
    await endLeftover(installation, log)
    await launch(installation, spare, signal)
    supervision = supervise(installation, spare, signal)
    spare.start()
    log.info(
      {
        data_dir: layout.root,
        server_pid: child?.pid,
        runs_as: installation.account.detail,
        duration_ms: Math.round(performance.now() - startedMs),
      },
      'embedded_postgres.started',
    )
  }

  async function end(): Promise<void> {
    // Not waited for: a server that is frozen answers neither of them before it has ended.
    owner?.end().catch(() => undefined)
    if (child?.pid !== undefined && !hasEnded(child)) await stopPostmaster(child.pid)
    await supervision
    await ballast?.stop()
    lock?.release()
  }

  /** Resolves when the server takes connections and is ours. */
  async function launch(at: Installation, spare: Ballast, signal: AbortSignal): Promise<void> {
    const giveUpAtMs = performance.now() + refusedStartMs
    for (let isFirst = true; ; isFirst = false) {
      signal.throwIfAborted()
      await spare.releaseIfShort()
      signal.throwIfAborted()
      const logStart = sizeOf(at.layout.log)
      const spawned = spawnPostmaster({
        postgres: at.binaries.postgres,
        account: at.account,
        database: at.layout.database,
        socketDir: at.socketDir,
        logFile: at.layout.log,
      })
      child = spawned
      // Without a listener a failure to spawn would end the process; `hasEnded` sees it.
      spawned.on('error', (error) => log.error({ err: error }, 'embedded_postgres.spawn_failed'))
      if (spawned.pid === undefined)
        throw new Error(`${at.binaries.postgres} cannot be run on this system`)
      if (await becomesReady(spawned, at, spare, signal)) {
        spawned.once('exit', (code, by) => {
          if (!signal.aborted)
            log.error({ server_pid: spawned.pid, code, signal: by }, 'embedded_postgres.died')
        })
        break
      }
      if (await spare.releaseIfShort(textFrom(at.layout.log, logStart))) continue
      if (isFirst)
        log.warn({ server_log: lastLines(at.layout.log, 3) }, 'embedded_postgres.start_refused')
      if (performance.now() > giveUpAtMs)
        throw new Error(
          `The embedded PostgreSQL does not start; ${at.layout.log} ends with:\n${lastLines(at.layout.log, 10)}`,
        )
      await delay(pauseMsMin, undefined, { signal })
    }
    await own(at)
  }

  /** True once our database exists and answers, false when the server ended instead. */
  async function becomesReady(
    server: ChildProcess,
    at: Installation,
    spare: Ballast,
    signal: AbortSignal,
  ): Promise<boolean> {
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

  async function own(at: Installation): Promise<void> {
    const ownership = await takeOwnership(at.socketDir, at.secrets)
    if (ownership.kind === 'in-use')
      throw new DirectoryInUseError(at.layout.root, ownership.pid ?? -1)
    owner = ownership.client
  }

  /** Brings back what is lost, the server or only our session with it, until the service stops. */
  async function supervise(at: Installation, spare: Ballast, signal: AbortSignal): Promise<void> {
    let pauseMs = pauseMsMin
    while (!signal.aborted) {
      try {
        if (child === undefined || hasEnded(child)) {
          await launch(at, spare, signal)
          log.info({ server_pid: child?.pid }, 'embedded_postgres.restarted')
        } else if (owner === undefined) await own(at)
        pauseMs = pauseMsMin
        await loss(signal)
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
  function loss(signal: AbortSignal): Promise<void> {
    const server = child
    const session = owner
    return new Promise((resolve) => {
      const ended = () => {
        server?.off('exit', lost)
        session?.off('end', lost)
        signal.removeEventListener('abort', ended)
        resolve()
      }
      const lost = () => {
        owner = undefined
        ended()
      }
      server?.once('exit', lost)
      session?.once('end', lost)
      signal.addEventListener('abort', ended)
      if (signal.aborted || (server && hasEnded(server))) ended()
    })
  }

  return {
    name: 'embedded postgres',
    start() {
      starting ??= run(stopping.signal).catch(async (error: unknown) => {
        await end()
        throw error
      })
      return starting
    },
    stop() {
      stopping.abort()
      stopped ??= (async () => {
        const isStarted = await starting?.then(
          () => true,
          () => false,
        )
        if (!isStarted) return
        await end()
        log.info({}, 'embedded_postgres.stopped')
      })()
      return stopped
    },
    url() {
      if (installation === undefined) throw new Error('The embedded PostgreSQL is not started')
      return serviceUrl(installation.socketDir, installation.secrets)
    },
  }
}

function hasEnded(server: ChildProcess): boolean {
  return server.pid === undefined || server.exitCode !== null || server.signalCode !== null
}

/** Does the work again when the disk was too full for it and some of it could be freed. */
async function withRoom<T>(spare: Ballast, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!isDiskFull(error) || !(await spare.release())) throw error
    return work()
  }
}

function isDiskFull(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return error.code === '53100'
  return error instanceof Error && 'code' in error && error.code === 'ENOSPC'
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
