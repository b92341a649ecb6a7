/**
 * The service as it is started by anyone: a process with its embedded database, set up over its API
 * with one tenant, one webhook and one mailer.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startServiceProcess } from './service-process.ts'
import { adminToken, setUpTenant } from './set-up.ts'

export const sender = 'bench@example.com'

export interface Service {
  readonly origin: string
  readonly pid: number
  readonly databasePid: number
  readonly headers: Readonly<Record<string, string>>
  stop(): Promise<void>
}

export async function startService(o: {
  roles: string
  sinkPort: number
  receiverPort: number
  connections: number
  /** Beside the usual one, each with a mailer of its own. */
  moreSenders?: readonly string[]
  /** Without the prefix. */
  moreEnv?: Readonly<Record<string, string | number>>
  logLevel: string
  profileDir?: string | undefined
}): Promise<Service> {
  const dataDir = mkdtempSync(join(tmpdir(), 'postrider-bench-'))
  const removeData = () => rmSync(dataDir, { recursive: true, force: true })
  const running = await startServiceProcess({
    logFile: join(dataDir, 'service.log'),
    profileDir: o.profileDir,
    env: {
      DATA_DIR: dataDir,
      ROLES: o.roles,
      ADMIN_TOKEN: adminToken,
      ALLOW_NETWORKS: '127.0.0.0/8',
      ALLOW_HTTP_WEBHOOKS: 'true',
      LOG_LEVEL: o.logLevel,
      ...o.moreEnv,
    },
  }).catch((error: unknown) => {
    removeData()
    throw error
  })
  const stop = async () => {
    await running.stop()
    removeData()
  }
  try {
    const { headers } = await setUpTenant(running.origin, {
      name: 'bench',
      sender,
      hookUrl: `http://127.0.0.1:${o.receiverPort}/events`,
      smtp: { port: o.sinkPort, connections: o.connections },
      ...(o.moreSenders === undefined ? {} : { moreSenders: o.moreSenders }),
    })
    const { origin, pid } = running
    return { origin, pid, databasePid: postmasterPid(dataDir), headers, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** PostgreSQL names its first process in the first line of postmaster.pid. */
function postmasterPid(dataDir: string): number {
  const file = readdirSync(dataDir, { recursive: true, encoding: 'utf8' }).find((path) =>
    path.endsWith('postmaster.pid'),
  )
  if (file === undefined) throw new Error('no embedded PostgreSQL was started')
  return Number.parseInt(readFileSync(join(dataDir, file), 'utf8'), 10)
}
