/**
 * The service as a process: configuration, database, migrations, roles, an orderly end.
 *
 * Started directly (`npm start`) or by `postrider serve`.
 */

import { isatty } from 'node:tty'
import { pathToFileURL } from 'node:url'
import { createEmbeddedPostgres, type EmbeddedPostgres } from '@postrider/embedded-postgres'
import { withTimeout } from '@postrider/runtime/timeout'
import { thisBuild } from './build.ts'
import { type App, compose, rolesOf } from './compose.ts'
import {
  type Config,
  ConfigError,
  isInboundHostUnnamed,
  isPaused,
  isPublicUrlPlain,
  loadConfig,
  publicUrlOf,
  readEnv,
  summarizeConfig,
  weakCredentials,
} from './config.ts'
import { heloNameOf, isHeloNameBare } from './ehlo-hostname.ts'
import { migrationsDir } from './operator-database.ts'
import { createSetupLink } from './people/index.ts'
import {
  createDayPartitions,
  createDb,
  DatabaseUnavailableError,
  durability,
  migrate,
} from './platform/db/index.ts'
import type { HttpServer } from './platform/http/server.ts'
import {
  createLogDestination,
  createLogger,
  type LogDestination,
  type Logger,
} from './platform/log.ts'
import { createTextDestination } from './platform/log-text.ts'
import { closeDataDir, closeSecretFiles, findDataDirFault } from './platform/process/data-dir.ts'
import { readDescriptorLimit } from './platform/process/descriptors.ts'
import { checkKeys, findNeeds } from './platform/secrets/index.ts'
import {
  checkSecretsFile,
  loadSecrets,
  refuseLostFile,
  type Secrets,
  toKeys,
} from './platform/secrets/secrets-file.ts'
import { partitionedTables } from './retention-days.ts'
import { sealedColumns } from './sealed-columns.ts'
import { createWaitingServer } from './startup-server.ts'
import { ensureFirstTenant, hasAnyTenant } from './tenants/index.ts'
import { commandOf, welcome } from './welcome.ts'

const CONNECT_RETRY_MS = 1_000
const CONNECT_FOR_MS = 60_000
const SAME_SIGNAL_MS = 2_000
/** Less than the five seconds within which a refused start ends (docs/reference/running.md#start). */
const REFUSED_MS_MAX = 4_000

/** A person at a terminal gets lines for people, whatever collects logs gets JSON. */
function destinationOf({ logFormat }: Config): LogDestination {
  const destination = createLogDestination(1)
  const isText = logFormat === 'text' || (logFormat === 'auto' && isatty(1))
  return isText ? createTextDestination(destination) : destination
}

/** Runs until a signal ends it. Resolves with the exit code. */
export async function serve(config: Config, print: (text: string) => void): Promise<number> {
  const log = createLogger({ level: config.logLevel, destination: destinationOf(config) })
  const build = thisBuild()
  log.info({ ...build, config: summarizeConfig(config) }, 'service.starting')
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
  const heloName = heloNameOf(config)
  if (isHeloNameBare(heloName))
    log.warn(
      { name: 'POSTRIDER_HELO_NAME', value: heloName },
      'config.helo_name_without_dot: other servers may refuse mail from it',
    )
  const descriptorLimit = readDescriptorLimit()
  if ((config.httpConnectionsMax ?? 0) > descriptorLimit)
    log.warn(
      {
        name: 'POSTRIDER_HTTP_CONNECTIONS_MAX',
        value: config.httpConnectionsMax,
        limit: descriptorLimit,
      },
      'config.http_connections_above_descriptors: file descriptors run out first; lower it to half of the limit, or raise the limit of open files',
    )
  if (isPaused(config))
    log.warn(
      { name: 'POSTRIDER_SENDING' },
      'config.sending_paused: mail is accepted; no mail and no webhook request is sent, no mailbox is read',
    )
  const signal = nextSignal()
  let embedded: EmbeddedPostgres | undefined
  let app: App | undefined
  let exitCode = 0
  try {
    closeDataDir(config.dataDir, log)
    closeSecretFiles(config.dataDir, log)
    // The embedded database may take longer than a refused start may.
    checkSecretsFile(config)
    if (config.databaseUrl === undefined) {
      embedded = createEmbeddedPostgres({ dataDir: config.dataDir, log })
      await embedded.start()
    }
    const databaseUrl = embedded?.url() ?? config.databaseUrl ?? ''
    const prepared = await prepareDatabase(databaseUrl, { config, log, signal })
    for (const name of weakCredentials(config)) log.warn({ name }, 'config.weak_credential')
    app = compose({ config, ...prepared, databaseUrl, log, build })
    if (config.apiKey !== undefined) await ensureFirstTenant({ db: app.db }, config.apiKey)
    await app.start()
    // Only now: a key that is made and then not shown, because the port is taken, is lost.
    const newApiKey = await makeFirstKey(app, config)
    // Before it says that it has started: from then on it outlives its database.
    const hasTenant = await hasAnyTenant(app.db)
    const setupUrl = await makeSetupLink(app, config)
    const { host, port } = app.address()
    const inbound = app.inboundAddress()
    log.info({ host, port, inbound_port: inbound?.port, roles: rolesOf(config) }, 'service.started')
    print(
      welcome({
        url: publicUrlOf(config.host, port),
        inboundPort: inbound?.port,
        submissionPorts: app.submissionAddresses().map(({ port }) => port),
        roles: rolesOf(config),
        hasDashboard: config.dashboard === 'on',
        dataDir: embedded === undefined ? undefined : config.dataDir,
        apiKey: newApiKey,
        ...{ hasTenant, setupUrl },
        command: commandOf(readEnv()),
      }),
    )
    log.info({ signal: await signal }, 'service.stopping')
  } catch (error) {
    if (!(error instanceof StoppedEarly)) {
      log.fatal({ err: error }, 'service.failed')
      print(`\nPostrider could not start: ${explain(error, config)}\n`)
      exitCode = 1
      endInAnyCase(log)
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
 * No supervisor starts a process again that does not end. The timer holds nothing itself: a process
 * with nothing left to do ends before.
 */
function endInAnyCase(log: Logger): void {
  const force = () => {
    log.error({ open: process.getActiveResourcesInfo() }, 'service.end_forced')
    log.flush()
    process.exit(1)
  }
  setTimeout(force, REFUSED_MS_MAX).unref()
}

/**
 * The first tenant's key, on the embedded database only: it is shown on the terminal, which is no
 * place for the keys of a production database.
 */
async function makeFirstKey(app: App, config: Config): Promise<string | undefined> {
  if (config.databaseUrl !== undefined || !config.roles.has('api')) return undefined
  return (await ensureFirstTenant({ db: app.db }))?.apiKey
}

/** A person opens it: where the port was picked, by the address that was taken. */
async function makeSetupLink(app: App, config: Config): Promise<string | undefined> {
  if (!config.roles.has('api') || config.oidcOnly || config.dashboard === 'off') return undefined
  // Without PUBLIC_URL the configuration knows no more than port 0.
  const isPortOpen = config.publicUrl === publicUrlOf(config.host, 0)
  const publicUrl = isPortOpen ? publicUrlOf(config.host, app.address().port) : config.publicUrl
  return await createSetupLink({ db: app.db, publicUrl })
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
          waiting = createWaitingServer({ config, log, build: thisBuild() })
          await waiting.start()
        }
        log.warn({ err: error, port: waiting.address().port }, 'database.not_reachable_yet')
        const isStopped = signal.then(() => true)
        if (await withTimeout(isStopped, CONNECT_RETRY_MS, () => false)) throw new StoppedEarly()
      }
    }
  } finally {
    await waiting?.stop()
  }
}

interface Prepared {
  readonly secrets: Secrets
  readonly retiredKeys: readonly Buffer[]
}

/** A database that is still starting is waited for; one that does not fit is refused at once. */
async function prepareDatabase(url: string, o: Waiting): Promise<Prepared> {
  const { config, log } = o
  await migrateWhenReachable(url, o)
  const db = createDb({ url, poolMax: 2, log, applicationName: 'postrider start' })
  try {
    const { durable, detail } = await durability(db)
    if (durable) log.info({ detail }, 'database.durable')
    else log.error({ detail }, 'database.not_durable: an accepted email can be lost in a crash')
    await createDayPartitions({ db, tables: partitionedTables, log }).runOnce()
    refuseLostFile(config, await findNeeds(db, sealedColumns))
    const secrets = loadSecrets(config)
    return { secrets, retiredKeys: await checkKeys(db, toKeys(secrets), sealedColumns) }
  } finally {
    await db.close()
  }
}

/** In words of the configuration where it is to blame. */
function explain(error: unknown, config: Config): string {
  if (!(error instanceof Error)) return String(error)
  const code: unknown = Reflect.get(error, 'code')
  if (code === 'EADDRINUSE' || code === 'EADDRNOTAVAIL' || code === 'EACCES')
    if (Reflect.get(error, 'syscall') === 'listen') return explainListen(error, config)
  if (/\b(?:EACCES|EROFS)\b/.test(error.message) && error.message.includes(config.dataDir))
    return findDataDirFault(config.dataDir) ?? error.message
  if (config.databaseUrl !== undefined && isAboutDatabaseUrl(error, code))
    return `${error.message}; see POSTRIDER_DATABASE_URL`
  return error.message
}

/** Not reachable, a login that was refused (28), or no such database (3D). */
function isAboutDatabaseUrl(error: Error, code: unknown): boolean {
  if (error instanceof DatabaseUnavailableError) return true
  return typeof code === 'string' && /^(?:28|3D)\w{3}$/.test(code)
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

const HELP = `npm start runs the service until a signal ends it. It takes no arguments. Configure it with
POSTRIDER_* variables (docs/config.md). npx postrider --help lists all commands.
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
