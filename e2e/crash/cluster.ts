/**
 * The service as its operator would spread it: one process for each role, two for the dispatcher where
 * a nemesis starts a second, one external PostgreSQL.
 * Starts, stops and kills them, and writes down who died how and by whom.
 */
import { randomBytes } from 'node:crypto'
import { appendFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { findFreePort, type NdjsonLog, type RunningService, startService } from '@postrider/testkit'
import { createPostgresServer } from '@postrider/testkit/postgres-server'
import type { ProcessName } from './history.ts'

export type RoleName = Exclude<ProcessName, 'database'>

export interface Cluster {
  readonly origin: string
  readonly adminToken: string
  start(name: ProcessName, failpoint?: string): Promise<void>
  /** In order, by SIGTERM. */
  stop(name: ProcessName): Promise<void>
  /** By SIGKILL, now. */
  kill(name: ProcessName): Promise<void>
  /**
   * Stops the process by SIGSTOP for so long that its leases run out, starts another that takes its
   * work, lets it go on, and ends it in order.
   */
  freeze(name: RoleName): Promise<void>
  /** Resolves when the process is gone by its own failpoint, or false when time is up. */
  waitForFailpoint(name: RoleName, timeoutMs: number): Promise<boolean>
  stopAll(): Promise<void>
}

/** Short, so that a round is short; the proportions are those of production. */
const timings = {
  LEASE_TTL: '2s',
  SEND_LEASE: '3s',
  SEND_TIMEOUT: '2s',
  SEND_RETRY_SCHEDULE: '500ms,700ms,1s',
  WEBHOOK_TIMEOUT: '2s',
  WEBHOOK_RETRY_SCHEDULE: '300ms,500ms,1s',
  WEBHOOK_BATCH_LINGER: '50ms',
  WEBHOOK_BATCH_EVENTS: '20',
}

const databaseSettings = {
  shared_buffers: '64MB',
  max_connections: '100',
  // Recovery after a kill is then a matter of moments.
  max_wal_size: '64MB',
}

/** Longer than the leases, and than it takes another process to start and take over. */
const FREEZE_MS = 7_000
/** Also on a machine that has much else to do. */
const READY_WITHIN_MS = 120_000
/** Time for what was under way to come to its end. */
const THAW_MS = 1_000

const roleNames: readonly RoleName[] = [
  'inbound',
  'mailbox',
  'dispatcher',
  'dispatcher-2',
  'sender',
  'api',
]
const rolesOf: Readonly<Record<RoleName, string>> = {
  api: 'api,janitor',
  sender: 'sender',
  dispatcher: 'dispatcher',
  'dispatcher-2': 'dispatcher',
  inbound: 'inbound',
  mailbox: 'mailbox',
}

interface Running {
  readonly service: RunningService
  /** Who is about to end it; until then only a failpoint or itself can. */
  endedBy: 'stop' | 'nemesis' | undefined
  readonly gone: Promise<void>
}

export async function createCluster(o: {
  readonly directory: string
  readonly log: NdjsonLog
  /** Of every process, beside what all rounds have. */
  readonly env?: Readonly<Record<string, string | number>>
}): Promise<Cluster> {
  const adminToken = randomBytes(24).toString('hex')
  const secretKeys = `k1:${randomBytes(32).toString('base64')}`
  const apiPort = await findFreePort()
  const dataDir = join(o.directory, 'service')
  mkdirSync(dataDir)
  const keepLine = (name: ProcessName) => (line: string) =>
    appendFileSync(join(o.directory, `${name}.log`), `${line}\n`)
  const database = createPostgresServer({
    directory: o.directory,
    port: await findFreePort(),
    settings: databaseSettings,
    isPrepared: true,
    onLine: keepLine('database'),
  })
  const roles = createRoles({
    log: o.log,
    keepLine,
    envOf: (name) => ({
      ...timings,
      ROLES: rolesOf[name],
      PORT: name === 'api' ? apiPort : 0,
      DATABASE_URL: database.url,
      DATA_DIR: dataDir,
      ADMIN_TOKEN: adminToken,
      SECRET_KEYS: secretKeys,
      ALLOW_NETWORKS: '127.0.0.0/8',
      ALLOW_HTTP_WEBHOOKS: 'true',
      ...o.env,
    }),
  })

  return {
    origin: `http://127.0.0.1:${apiPort}`,
    adminToken,
    async start(name, failpoint) {
      if (name !== 'database') return roles.start(name, failpoint)
      await database.start()
      o.log.append({ fact: 'process.started', process: name, pid: database.pid })
    },
    async stop(name) {
      if (name !== 'database') return roles.end(name, 'stop')
      await database.stop()
      const how = { signal: null, code: 0, by: 'stop' }
      o.log.append({ fact: 'process.died', process: name, pid: database.pid, ...how })
    },
    async kill(name) {
      o.log.append({ fact: 'kill.planned', process: name })
      if (name !== 'database') return roles.end(name, 'nemesis')
      await database.kill()
      const how = { signal: 'SIGKILL', code: null, by: 'nemesis' }
      o.log.append({ fact: 'process.died', process: name, pid: database.pid, ...how })
    },
    freeze: roles.freeze,
    waitForFailpoint: roles.waitForFailpoint,
    async stopAll() {
      await Promise.all(roleNames.map((name) => roles.end(name, 'stop')))
      await database.stop()
    },
  }
}

interface Roles extends Pick<Cluster, 'freeze' | 'waitForFailpoint'> {
  start(name: RoleName, failpoint: string | undefined): Promise<void>
  end(name: RoleName, by: 'stop' | 'nemesis'): Promise<void>
}

/** The processes of the service. */
function createRoles(o: {
  readonly log: NdjsonLog
  readonly keepLine: (name: ProcessName) => (line: string) => void
  readonly envOf: (name: RoleName) => Readonly<Record<string, string | number>>
}): Roles {
  const { log } = o
  const running = new Map<RoleName, Running>()

  const start: Roles['start'] = async (name, failpoint) => {
    const service = await startService({
      env: { ...o.envOf(name), ...(failpoint === undefined ? {} : { FAILPOINTS: failpoint }) },
      onLine: o.keepLine(name),
      readyTimeoutMs: READY_WITHIN_MS,
    })
    const { pid } = service.process
    log.append({ fact: 'process.started', process: name, pid })
    if (failpoint !== undefined) log.append({ fact: 'failpoint.armed', process: name, failpoint })
    const one: Running = {
      service,
      endedBy: undefined,
      gone: service.process.exited.then(({ code, signal }) => {
        const own = failpoint !== undefined && signal === 'SIGKILL' ? 'failpoint' : 'itself'
        const by = one.endedBy ?? own
        log.append({ fact: 'process.died', process: name, pid, signal, code, by })
        if (running.get(name) === one) running.delete(name)
      }),
    }
    running.set(name, one)
  }

  return {
    start,
    async end(name, by) {
      const one = running.get(name)
      if (one !== undefined) await endProcess(one, by)
    },
    async freeze(name) {
      const frozen = running.get(name)
      if (frozen === undefined) return
      const { pid } = frozen.service.process
      process.kill(pid, 'SIGSTOP')
      log.append({ fact: 'process.frozen', process: name, pid })
      await Promise.all([delay(FREEZE_MS), start(name, undefined)])
      process.kill(pid, 'SIGCONT')
      log.append({ fact: 'process.thawed', process: name, pid })
      await delay(THAW_MS)
      await endProcess(frozen, 'stop')
    },
    async waitForFailpoint(name, timeoutMs) {
      const one = running.get(name)
      return one === undefined || isGoneWithin(one, timeoutMs)
    },
  }
}

async function endProcess(one: Running, by: 'stop' | 'nemesis'): Promise<void> {
  one.endedBy = by
  await one.service.process.kill(by === 'stop' ? 'SIGTERM' : 'SIGKILL')
  await one.gone
}

async function isGoneWithin({ gone }: Running, timeoutMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), timeoutMs)
  })
  const died = await Promise.race([gone.then(() => true), late])
  clearTimeout(timer)
  return died
}
