/**
 * The service as it is started by anyone: a process with its embedded database, set up over its API
 * with one tenant, one webhook and one mailer.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { operations } from '@postrider/contract'
import { findFreePort } from '@postrider/testkit'
import { request } from 'undici'

const main = fileURLToPath(new URL('../packages/server/src/main.ts', import.meta.url))
const adminToken = 'bench-admin-token-0123456789abcdef'
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
  logLevel: string
}): Promise<Service> {
  const dataDir = mkdtempSync(join(tmpdir(), 'postrider-bench-'))
  const port = await findFreePort()
  const origin = `http://127.0.0.1:${port}`
  // Logs go to a file: read through a pipe they would cost the bench the time that it measures.
  const logFile = join(dataDir, 'service.log')
  const log = openSync(logFile, 'a')
  const child = spawn(process.execPath, [main], {
    stdio: ['ignore', log, log],
    env: {
      ...inheritedEnv(),
      POSTRIDER_DATA_DIR: dataDir,
      POSTRIDER_HOST: '127.0.0.1',
      POSTRIDER_PORT: String(port),
      POSTRIDER_ROLES: o.roles,
      POSTRIDER_ADMIN_TOKEN: adminToken,
      POSTRIDER_ALLOW_NETWORKS: '127.0.0.0/8',
      POSTRIDER_ALLOW_HTTP_WEBHOOKS: 'true',
      POSTRIDER_LOG_LEVEL: o.logLevel,
    },
  })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const stop = async () => {
    child.kill('SIGTERM')
    await exited
    rmSync(dataDir, { recursive: true, force: true })
  }
  try {
    await waitUntilReady(origin, () => {
      if (child.exitCode !== null) throw new Error(readFileSync(logFile, 'utf8'))
    })
    const apiKey = await createTenant(origin)
    const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' }
    await setUp(origin, headers, o)
    return { origin, pid: child.pid ?? -1, databasePid: postmasterPid(dataDir), headers, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Without the configuration of whoever runs the bench. */
function inheritedEnv(): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env)
  return Object.fromEntries(entries.filter(([name]) => !name.startsWith('POSTRIDER_')))
}

async function waitUntilReady(origin: string, checkAlive: () => void): Promise<void> {
  const endsAt = performance.now() + 60_000
  for (;;) {
    checkAlive()
    const isReady = await request(`${origin}/readyz`).then(
      async ({ statusCode, body }) => {
        await body.dump()
        return statusCode === 200
      },
      () => false,
    )
    if (isReady) return
    if (performance.now() > endsAt) throw new Error('the service did not become ready')
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

async function createTenant(origin: string): Promise<string> {
  const headers = { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' }
  const answer = await call(origin, 'createTenant', headers, { name: 'bench' })
  return (answer as { api_key: string }).api_key
}

async function setUp(
  origin: string,
  headers: Record<string, string>,
  o: { sinkPort: number; receiverPort: number; connections: number },
): Promise<void> {
  await call(origin, 'registerWebhook', headers, {
    webhook_url: `http://127.0.0.1:${o.receiverPort}/events`,
    event: 'EMAIL_EVENT',
    method: 'POST',
    webhook_options: { events: { delivery: true, smtp_error: true } },
  })
  await call(origin, 'configureSMTP', headers, {
    name: 'bench',
    email: sender,
    config_type: 'smtp',
    connection_type: 'basic',
    config: { host: '127.0.0.1', port: o.sinkPort, secure: 'None' },
    limits: { connections: o.connections },
  })
}

async function call(
  origin: string,
  operation: 'createTenant' | 'registerWebhook' | 'configureSMTP',
  headers: Record<string, string>,
  body: unknown,
): Promise<unknown> {
  const { method, path } = operations[operation]
  const answer = await request(origin + path, { method, headers, body: JSON.stringify(body) })
  const text = await answer.body.text()
  if (answer.statusCode >= 300) throw new Error(`${operation}: ${answer.statusCode} ${text}`)
  return JSON.parse(text)
}

/** PostgreSQL names its first process in the first line of postmaster.pid. */
function postmasterPid(dataDir: string): number {
  const file = readdirSync(dataDir, { recursive: true, encoding: 'utf8' }).find((path) =>
    path.endsWith('postmaster.pid'),
  )
  if (file === undefined) throw new Error('no embedded PostgreSQL was started')
  return Number.parseInt(readFileSync(join(dataDir, file), 'utf8'), 10)
}
