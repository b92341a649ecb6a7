/** `postrider mailer`: mailers, and logins at mail servers, as the operator sees them. */
import { readFileSync } from 'node:fs'
import { secureModes } from '@postrider/contract'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Config } from '../config.ts'
import { searchMailers } from '../mailers/index.ts'
import type { Logger } from '../platform/log.ts'
import { callService, serviceUrl } from './call-service.ts'
import { listMailersResult, showMailerResult } from './list-mailers.ts'
import { json, type OnDatabase, ofTenant, onTenant, type Result, table } from './output.ts'
import { ownerOf } from './read-all.ts'
import type { Tried } from './try-login.ts'

export interface MailerCommandDeps {
  readonly config: () => Config
  readonly log: Logger
  readonly onDatabase: OnDatabase
  readonly print: (result: Result, options: { readonly json?: boolean }) => void
  readonly setExitCode: (code: number) => void
}

const OF_ID = 'whose it must be'
const MAILER = { what: 'mailer', search: searchMailers }

interface SwitchOptions {
  readonly tenant?: string
  readonly url?: string
  readonly json?: boolean
}

interface TestOptions {
  readonly tenant?: string
  readonly json?: boolean
  readonly host?: string
  readonly port?: number
  readonly secure?: (typeof secureModes)[number]
  readonly tlsVerify: boolean
  readonly username?: string
  readonly passwordFile?: string
}

export function addMailerCommands(program: Command, deps: MailerCommandDeps): void {
  const mailer = program.command('mailer').description('mailers: queues, errors and logins')
  mailer
    .command('list')
    .description('list all mailers with state, queue and last error')
    .addOption(new Option('--tenant <tenant_id>', 'only those of a tenant'))
    .addOption(json())
    .action(deps.onDatabase((db, options: { tenant?: string }) => listMailersResult(db, options)))
  mailer
    .command('show')
    .description('show a mailer with state, queue and last error')
    .argument('<mailer_id>')
    .addOption(new Option('--tenant <tenant_id>', 'only of this tenant'))
    .addOption(json())
    .action(
      deps.onDatabase((db, mailerId: string, options: { tenant?: string }) =>
        showMailerResult(db, mailerId, options),
      ),
    )
  for (const [name, active, says] of [
    ['activate', true, 'make a mailer active again, if its login is not rejected'],
    ['disable', false, 'disable a mailer: its mail is held, and nothing is fetched'],
  ] as const)
    mailer
      .command(name)
      .description(`${says}; in a running service`)
      .argument('<mailer_id>')
      .addOption(ofTenant(OF_ID))
      .addOption(serviceUrl())
      .addOption(json())
      .action((mailerId: string, options: SwitchOptions, command: Command) =>
        onTenant(
          deps,
          { owner: (db) => ownerOf(db, { ...MAILER, id: mailerId }, undefined), options, command },
          async (tenantId) => {
            const call = {
              ...{ tenantId, params: { mailer_id: mailerId } },
              ...{ body: { active }, url: options.url },
            }
            const answer = await callService(deps.config(), 'setMailerActive', call)
            return { json: { mailer: answer.mailer }, text: String(answer.message) }
          },
        ),
      )
  mailer
    .command('test')
    .description('log in at a mail server as a send would, and show each step')
    .argument('[mailer_id]', 'the mailer whose stored login is tried')
    .addOption(ofTenant(OF_ID))
    .option('--host <host>', 'a mail server, instead of a mailer')
    .addOption(new Option('--port <port>', 'of the server').argParser(readPort))
    .addOption(new Option('--secure <mode>', 'TLS').choices(secureModes))
    .option('--no-tls-verify', "do not verify the server's certificate")
    .option('--username <name>', 'user name; without it, no login is tried')
    .option('--password-file <file>', 'its first line is the password; - for standard input')
    .addOption(json())
    .action(async (mailerId: string | undefined, options, command) => {
      const tried = await tryOut(deps, command, mailerId, options)
      if (tried.problem !== undefined) deps.setExitCode(1)
      deps.print({ json: toJson(tried), text: toText(tried) }, options)
    })
}

async function tryOut(
  { config, log }: MailerCommandDeps,
  command: Command,
  mailerId: string | undefined,
  options: TestOptions,
): Promise<Tried> {
  const { host, port, secure = 'Auto', tlsVerify, username, passwordFile } = options
  // The SMTP client and all that belongs to it: the other commands start faster without.
  const work = await import('./try-login.ts')
  if (host === undefined) {
    if (mailerId === undefined) command.error('error: name a mailer, or give --host and --port')
    return work.tryMailer({ config: config(), log }, options.tenant, mailerId)
  }
  if (mailerId !== undefined) command.error('error: a mailer or --host, not both')
  if (port === undefined) command.error('error: --host needs --port')
  if ((username === undefined) !== (passwordFile === undefined))
    command.error('error: --username and --password-file go together')
  const password = passwordFile === undefined ? undefined : readPassword(passwordFile)
  const login = username === undefined ? {} : { username, password }
  return work.tryServer(config(), { host, port, secure, tlsVerify, ...login })
}

/** Not on the command line, where every user of the machine can read it. */
function readPassword(file: string): string {
  const [line = ''] = readFileSync(file === '-' ? 0 : file, 'utf8').split(/\r?\n/, 1)
  return line
}

function readPort(text: string): number {
  const port = Number(text)
  if (Number.isInteger(port) && port >= 1 && port <= 65_535) return port
  throw new InvalidArgumentError('Give a port from 1 to 65535.')
}

function toJson({ mailer, steps, problem }: Tried): object {
  return {
    ok: problem === undefined,
    ...(mailer === undefined
      ? {}
      : {
          mailer_id: mailer.mailerId,
          state: mailer.state,
          state_reason: mailer.stateReason ?? null,
        }),
    steps,
    problem: problem ?? null,
  }
}

/** The service may have been given other variables than this command. */
function caveatOf(category: string): string {
  return category === 'address_refused'
    ? '\nThis result is for POSTRIDER_ALLOW_NETWORKS of this command; a running service may have another.'
    : ''
}

function toText({ mailer, steps, problem, hasLogin }: Tried): string {
  const lines = steps.map(({ step, ok, ms, detail }) => [
    step,
    ok ? 'ok' : 'FAIL',
    `${ms} ms`,
    detail,
  ])
  const reason = mailer?.stateReason === undefined ? '' : ` (${mailer.stateReason})`
  const heading =
    mailer === undefined ? [] : [`${mailer.mailerId}, ${mailer.email}, ${mailer.state}${reason}\n`]
  const works = hasLogin ? 'The login works.' : 'The server can be used; no login is configured.'
  const end =
    problem === undefined
      ? works
      : `${problem.failed_reason} (${problem.category}). ${problem.follows}${caveatOf(problem.category)}`
  return [...heading, ...(lines.length === 0 ? [] : [table(lines), '']), end].join('\n')
}
