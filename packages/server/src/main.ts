/**
 * The service as a process: configuration, database, migrations, roles, an orderly end.
 *
 * Started directly (`npm start`) or by `postrider serve`.
 */
import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { type App, compose, rolesOf } from './compose.ts'
import {
  type Config,
  ConfigError,
  isInboundHostUnnamed,
  isPublicUrlPlain,
  loadConfig,
  publicUrlOf,
  readEnv,
  summarizeConfig,
  weakCredentials,
} from './config.ts'
import { partitionedTables } from './kept-days.ts'
import { migrationsDir } from './operator-database.ts'
import {
  createDayPartitions,
  createDb,
  createEmbeddedPostgres,
  DatabaseUnavailableError,
  durability,
  type EmbeddedPostgres,
  migrate,
} from './platform/db/index.ts'
import type { HttpServer } from './platform/http/server.ts'
import { createLogDestination, createLogger, type Logger } from './platform/log.ts'
import { checkKeys, createKeyRing, keyIdsOf } from './platform/secrets/index.ts'
import { loadSecrets } from './platform/secrets-file.ts'
import { ensureFirstTenant, hasAnyTenant } from './tenants/index.ts'
import { createWaitingServer } from './waiting-server.ts'
import { welcome } from './welcome.ts'

const CONNECT_RETRY_MS = 1_000
const CONNECT_FOR_MS = 60_000
const SAME_SIGNAL_MS = 2_000

/** Runs until a signal ends it. Resolves with the exit code. */
export async function serve(config: Config, print: (text: string) => void): Promise<number> {
  const log = createLogger({
    level: config.logLevel,
    destination: createLogDestination(1),
  })
  log.info({ config: summarizeConfig(config), version: version() }, 'service.starting')
  if (isPublicUrlPlain(config))
    log.warn(
      { name: 'POSTRIDER_PUBLIC_URL' },
      'config.public_url_without_tls: mail programs do not unsubscribe by it',
    )
  if (config.roles.has('inbound') && isInboundHostUnnamed(config))
    log.warn(
      { name: 'POSTRIDER_INBOUND_HOST', value: config.inboundHost },
      'config.inbound_host_is_no_name: no MX record can lead to it, so other servers bring no mail',
    )
  const signal = nextSignal()
  let embedded: EmbeddedPostgres | undefined
  let app: App | undefined
  let exitCode = 0
  try {
    if (config.databaseUrl === undefined) {
      embedded = createEmbeddedPostgres({ dataDir: config.dataDir, log })
      await embedded.start()
    }
    const databaseUrl = embedded?.url() ?? config.databaseUrl ?? ''
    await prepareDatabase(databaseUrl, { config, log, signal })
    const secrets = loadSecrets(config)
    for (const name of weakCredentials(config)) log.warn({ name }, 'config.weak_credential')
    app = compose({ config, secrets, databaseUrl, log, version: version() })
    await checkKeys(app.db, createKeyRing(secrets.secretKeys), keyIdsOf(secrets.secretKeys))
    if (config.apiKey !== undefined) await ensureFirstTenant({ db: app.db }, config.apiKey)
    await app.start()
    // Only now: a key that is made and then not shown, because the port is taken, is lost.
    const newApiKey = await makeFirstKey(app, config)
    const { host, port } = app.address()
    const inbound = app.inboundAddress()
    log.info({ host, port, inbound_port: inbound?.port, roles: rolesOf(config) }, 'service.started')
    print(
      welcome({
        url: publicUrlOf(config.host, port),
        inboundPort: inbound?.port,
        roles: rolesOf(config),
        dataDir: embedded === undefined ? undefined : config.dataDir,
        apiKey: newApiKey,
        hasTenant: await hasAnyTenant(app.db),
      }),
    )
    log.info({ signal: await signal }, 'service.stopping')
  } catch (error) {
    if (!(error instanceof StoppedEarly)) {
      log.fatal({ err: error }, 'service.failed')
      print(`\nPostrider could not start: ${explain(error, config)}\n`)
      exitCode = 1
    }
  }
  try {
    await app?.stop()
    await embedded?.stop()
    log.info('service.stopped')
  } catch (error) {
    log.error({ err: error }, 'service.stop_failed')
    exitCode = 1
  }
  log.flush()
  return exitCode
}

/**
 * The first tenant's key, on the embedded database only: it is shown on the terminal, which is no
 * place for the keys of a production database.
 */
async function makeFirstKey(app: App, config: Config): Promise<string | undefined> {
  if (config.databaseUrl !== undefined || !config.roles.has('api')) return undefined
  return (await ensureFirstTenant({ db: app.db }))?.apiKey
}

/** A signal came before there was anything to stop. */
class StoppedEarly extends Error {}

interface Waiting {
  readonly config: Config
  readonly log: Logger
  readonly signal: Promise<string>
}

/** Meanwhile probes are answered. */
async function migrateWhenReachable(url: string, o: Waiting): Promise<void> {
  const { config, log, signal } = o
  const startedMs = performance.now()
  let waiting: HttpServer | undefined
  try {
    for (;;) {
      try {
        return void (await migrate({ url, dir: migrationsDir, log }))
      } catch (error) {
        const isOver = performance.now() - startedMs > CONNECT_FOR_MS
        if (isOver || !isConnectionError(error)) throw error
        if (waiting === undefined) {
          waiting = createWaitingServer({ config, log, version: version() })
          await waiting.start()
        }
        log.warn({ err: error, port: waiting.address().port }, 'database.not_reachable_yet')
        if ((await Promise.race([signal, pause(CONNECT_RETRY_MS)])) !== undefined)
          throw new StoppedEarly()
      }
    }
  } finally {
    await waiting?.stop()
  }
}

/** A database that is still starting is waited for; one that does not fit is refused at once. */
async function prepareDatabase(url: string, o: Waiting): Promise<void> {
  const { log } = o
  await migrateWhenReachable(url, o)
  const db = createDb({ url, poolMax: 2, log, applicationName: 'postrider start' })
  try {
    const { durable, detail } = await durability(db)
    if (durable) log.info({ detail }, 'database.durable')
    else log.error({ detail }, 'database.not_durable: an accepted email can be lost in a crash')
    await createDayPartitions({ db, tables: partitionedTables, log }).runOnce()
  } finally {
    await db.close()
  }
}

function pause(ms: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(resolve, ms, undefined))
}

/** In words of the configuration where it is to blame. */
function explain(error: unknown, config: Config): string {
  if (!(error instanceof Error)) return String(error)
  const code: unknown = Reflect.get(error, 'code')
  if (code === 'EADDRINUSE' || code === 'EADDRNOTAVAIL' || code === 'EACCES')
    if (Reflect.get(error, 'syscall') === 'listen') return explainListen(error, config)
  return error.message
}

/** Of the two that listen, by the port. */
function explainListen(error: Error, { host, port, inboundPort }: Config): string {
  const isInbound = Reflect.get(error, 'port') === inboundPort && inboundPort !== port
  return isInbound
    ? `${error.message}; set POSTRIDER_INBOUND_PORT or POSTRIDER_HOST (now ${host}:${inboundPort}), or POSTRIDER_ROLES without inbound`
    : `${error.message}; set POSTRIDER_PORT or POSTRIDER_HOST (now ${host}:${port})`
}

function isConnectionError(error: unknown): boolean {
  if (error instanceof DatabaseUnavailableError) return true
  if (!(error instanceof Error)) return false
  const code: unknown = Reflect.get(error, 'code')
  return typeof code === 'string' && /^(E[A-Z]+|08\d{3}|57P0[123])$/.test(code)
}

function version(): string {
  const file = new URL('../package.json', import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}

/**
 * A second signal does not wait for an orderly end. One that follows at once is the same Ctrl-C:
 * the terminal sends it to the whole process group, and npm passes it on once more.
 */
function nextSignal(): Promise<string> {
  return new Promise((resolve) => {
    let firstAtMs: number | undefined
    const onSignal = (name: string) => {
      if (firstAtMs !== undefined && performance.now() - firstAtMs > SAME_SIGNAL_MS) process.exit(1)
      firstAtMs ??= performance.now()
      resolve(name)
    }
    process.on('SIGINT', onSignal)
    process.on('SIGTERM', onSignal)
  })
}

const HELP = `npm start runs the service until a signal ends it. It takes no arguments: it is configured by
POSTRIDER_* variables, which docs/config.md lists. npx postrider --help tells of all commands.
`

async function main(): Promise<void> {
  const print = (text: string) => process.stdout.write(text)
  const [argument] = process.argv.slice(2)
  if (argument === '--help' || argument === '-h') return void print(HELP)
  if (argument !== undefined) {
    process.stderr.write(`There is no argument ${argument}.\n${HELP}`)
    process.exitCode = 2
    return
  }
  try {
    process.exitCode = await serve(loadConfig(readEnv()), print)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exitCode = 2
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main()
