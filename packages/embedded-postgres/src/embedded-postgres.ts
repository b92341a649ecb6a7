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
import type { Logger } from '@postrider/runtime/logger'
import type { Service } from '@postrider/runtime/service'
import { type Ballast, createBallast } from './ballast.ts'
import { type DirectoryLock, lockDirectory } from './directory-lock.ts'
import { withRoom } from './disk-full.ts'
import { endLeftover, type Installation, install } from './installation.ts'
import { openLayout } from './layout.ts'
import { serviceUrl } from './owner-session.ts'
import { createSupervisedServer, type SupervisedServer } from './supervised-server.ts'

export interface EmbeddedPostgres extends Service {
  /** Valid once started, and the same for as long as the data directory stays where it is. */
  url(): string
}

export function createEmbeddedPostgres(o: { dataDir: string; log: Logger }): EmbeddedPostgres {
  const { log } = o
  let lock: DirectoryLock | undefined
  let ballast: Ballast | undefined
  let installation: Installation | undefined
  let server: SupervisedServer | undefined
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
    const at = await install(layout, log)
    installation = at
    await endLeftover(at, log)
    server = createSupervisedServer({ at, spare, log, signal })
    await server.start()
    spare.start()
    log.info(
      {
        data_dir: layout.root,
        server_pid: server.pid,
        runs_as: at.account.detail,
        duration_ms: Math.round(performance.now() - startedMs),
      },
      'embedded_postgres.started',
    )
  }

  async function end(): Promise<void> {
    await server?.end()
    await ballast?.stop()
    lock?.release()
  }

  async function stop(): Promise<void> {
    const isStarted = await starting?.then(
      () => true,
      () => false,
    )
    if (!isStarted) return
    await end()
    log.info({}, 'embedded_postgres.stopped')
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
      stopped ??= stop()
      return stopped
    },
    url() {
      if (installation === undefined) throw new Error('The embedded PostgreSQL is not started')
      return serviceUrl(installation.socketDir, installation.secrets)
    },
  }
}
