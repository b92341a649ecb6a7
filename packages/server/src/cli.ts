/**
 * The operator's command line: `postrider <command>` (docs/reference/running.md#commands). Without a command
 * it is `postrider serve`.
 *
 * Commands share their use cases with the admin API. Results go to stdout, as text for people or,
 * with `--json`, as one JSON document; whatever else is said goes to stderr.
 * Exit codes: 0 done, 1 refused or failed, 2 not usable as it was called or configured.
 */
import { Command, CommanderError } from 'commander'
import { describeBuild, thisBuild } from './build.ts'
import { addEmailCommands } from './cli/emails.ts'
import { addMailerCommands } from './cli/mailers.ts'
import { json, type OnDatabase, type Result, table } from './cli/output.ts'
import { addSecretCommands } from './cli/secrets.ts'
import { addTenantSuppressionCommands } from './cli/tenant-suppressions.ts'
import { addTenantCommands } from './cli/tenants.ts'
import { addUserCommands } from './cli/users.ts'
import { addWebhookCommands } from './cli/webhooks.ts'
import { ConfigError, type Environment, loadConfig } from './config.ts'
import { examine, fixOf } from './doctor/index.ts'
import { migrationsDir, withCurrentDatabase, withDatabase } from './operator-database.ts'
import { migrate } from './platform/db/index.ts'
import { ApiError } from './platform/errors.ts'
import { createLogger } from './platform/log.ts'

export interface CliIo {
  readonly env: Environment
  out(text: string): void
  err(text: string): void
}

/** Resolves with the exit code. */
export async function runCli(args: readonly string[], io: CliIo): Promise<number> {
  let exitCode = 0
  const program = buildProgram(io, (code) => {
    exitCode = code
  })
  try {
    await program.parseAsync(args.length === 0 ? ['serve'] : [...args], { from: 'user' })
    return exitCode
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    io.err(`${explain(error)}\n`)
    return error instanceof ConfigError ? 2 : 1
  }
}

/** All commands. */
export function buildProgram(io: CliIo, setExitCode: (code: number) => void): Command {
  const log = createLogger({
    level: 'warn',
    destination: { write: (line: string) => io.err(line) },
  })
  const program = new Command('postrider')
    .description('Email delivery with an exact ledger and webhooks that are never lost')
    .version(describeBuild(thisBuild()))
    .exitOverride()
    .configureOutput({ writeOut: io.out, writeErr: io.err })
    .showHelpAfterError('(add --help for how to use it)')

  const onDatabase: OnDatabase =
    (work) =>
    async (...args) => {
      const config = loadConfig(io.env, { isForServing: false })
      const result = await withCurrentDatabase({ config, log }, (db) => work(db, ...args))
      print(result, { json: isJson(args) })
    }
  const print = (result: Result, options: { readonly json?: boolean }) =>
    io.out(options.json === true ? `${JSON.stringify(result.json)}\n` : `${result.text}\n`)

  program
    .command('serve')
    .description('run the service (also without a command)')
    .action(async () => {
      // The whole service: the other commands start in half the time without it.
      const { serve } = await import('./main.ts')
      setExitCode(await serve(loadConfig(io.env), io.out))
    })

  program
    .command('migrate')
    .description('bring the database up to date')
    .addOption(json())
    .action(async (options: { json?: boolean }) => {
      const config = loadConfig(io.env, { isForServing: false })
      const { applied } = await withDatabase({ config, log }, ({ url }) =>
        migrate({ url, dir: migrationsDir, log }),
      )
      const text = applied.length === 0 ? 'Up to date' : `Applied ${applied.join(', ')}`
      io.out(options.json === true ? `${JSON.stringify({ applied })}\n` : `${text}\n`)
    })

  addTenantCommands(program, {
    onDatabase,
    config: () => loadConfig(io.env, { isForServing: false }),
  })
  addUserCommands(program, {
    onDatabase,
    config: () => loadConfig(io.env, { isForServing: false }),
  })
  addSecretCommands(program, {
    config: () => loadConfig(io.env, { isForServing: false }),
    log,
    print,
    setExitCode,
  })
  addEmailCommands(program, {
    onDatabase,
    config: () => loadConfig(io.env, { isForServing: false }),
    print,
  })
  const tenantDeps = {
    ...{ onDatabase, log, out: io.out, setExitCode },
    config: () => loadConfig(io.env, { isForServing: false }),
  }
  addTenantSuppressionCommands(program, tenantDeps)
  addWebhookCommands(program, tenantDeps)
  addMailerCommands(program, {
    onDatabase,
    config: () => loadConfig(io.env, { isForServing: false }),
    log,
    print,
    setExitCode,
  })

  program
    .command('doctor')
    .description('check configuration, secrets, disk and database')
    .addOption(json())
    .action(async (options: { json?: boolean }) => {
      const looked = await examine(io.env, log)
      const findings = looked.map((f) => ({ ...f, fix: fixOf(f) }))
      const isFit = findings.every(({ state }) => state !== 'failed')
      if (!isFit) setExitCode(1)
      const lines = findings.flatMap(({ state, check, detail, fix }) => [
        [MARKS[state], check, detail],
        ...(fix === null ? [] : [['', '', `What to do: ${fix}`]]),
      ])
      io.out(
        options.json === true
          ? `${JSON.stringify({ ok: isFit, findings })}\n`
          : `${table(lines)}\n\n${isFit ? 'Fit to run.' : 'Not fit to run.'} ${JUDGED}\n`,
      )
    })
  return program
}

const JUDGED =
  'This result is for the POSTRIDER_* variables of this command; a running service may have others.'
const MARKS = { ok: 'ok', warning: 'warn', failed: 'FAIL' } as const

/** Commander hands an action its arguments, its options and the command itself, in this order. */
function isJson(args: readonly unknown[]): boolean {
  const options = args.at(-2)
  return typeof options === 'object' && options !== null && Reflect.get(options, 'json') === true
}

function explain(error: unknown): string {
  if (error instanceof ApiError && error.errors !== undefined)
    return error.errors.map(({ path, message }) => `${path.slice(1)} ${message}`.trim()).join('\n')
  if (!(error instanceof Error)) return String(error)
  const cause = error.cause instanceof Error ? `: ${error.cause.message}` : ''
  return `${error.message}${cause}`
}
