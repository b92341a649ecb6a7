/** `postrider user`. The commands share their use cases with the admin API. */
import { operatorRoles, type UserRole, userRoles } from '@postrider/contract'
import { type Command, Option } from 'commander'
import type { Config } from '../config.ts'
import {
  createSetupLink,
  createUser,
  deleteUser,
  findUserId,
  fullGrantor,
  inviteAgain,
  pageOfUsers,
} from '../people/index.ts'
import type { Db } from '../platform/db/index.ts'
import { ApiError, validationError } from '../platform/errors.ts'
import { audited } from './audited.ts'
import { json, named, type OnDatabase, type Result, table } from './output.ts'
import { readAll, tenantIdsOf, theTenant } from './read-all.ts'

interface Deps {
  readonly onDatabase: OnDatabase
  readonly config: () => Pick<Config, 'publicUrl'>
}

interface InviteOptions {
  readonly role?: UserRole
  readonly tenant?: string[]
  readonly name?: string
  readonly content?: boolean
}

export function addUserCommands(program: Command, { onDatabase, config }: Deps): void {
  const user = program.command('user').description('users of the dashboard')
  user
    .command('invite')
    .description(
      'print a link by which a user sets a password, also a new one; without an address, the link that makes the first user',
    )
    .argument('[email]')
    .addOption(new Option('--role <role>', 'of a new user').choices(userRoles))
    .option(
      '--tenant <tenant_id...>',
      'of a new user with a role in tenants; where there are several',
    )
    .option('--name <name>', 'of a new user; without: the address')
    .option('--content', 'the new user may read the content of mail')
    .option('--no-content', 'the new user may not read the content of mail')
    .addOption(json())
    .action(
      onDatabase((db, email: string | undefined, options: InviteOptions) => {
        const { publicUrl } = config()
        return email === undefined
          ? setupResult({ db, publicUrl })
          : inviteResult({ db, publicUrl }, email, options)
      }),
    )
  user
    .command('list')
    .description('list all users, newest first')
    .addOption(json())
    .action(onDatabase((db) => listResult(db)))
  user
    .command('delete')
    .description('delete a user; the sessions of the user end at once')
    .argument('<user>', 'id or address')
    .addOption(json())
    .action(onDatabase((db, who: string) => deleteResult(db, who)))
}

type LinkDeps = Parameters<typeof createSetupLink>[0]

async function setupResult(deps: LinkDeps): Promise<Result> {
  const url = await audited(deps.db, {
    operation: 'user invite',
    async work() {
      const made = await createSetupLink(deps)
      if (made !== undefined) return made
      throw new ApiError('conflict', {
        message: 'There is a user already: give an address, as in postrider user invite EMAIL',
      })
    },
  })
  return {
    json: { setup_url: url },
    text: `This link makes the first user. It works once, for an hour:\n\n  ${url}`,
  }
}

async function inviteResult(
  deps: LinkDeps,
  email: string,
  options: InviteOptions,
): Promise<Result> {
  const known = await findUserId(deps, email)
  if (known !== undefined) {
    const work = () => inviteAgain(deps, known)
    const url = await audited(deps.db, { operation: 'user invite', target: known, work })
    return shownLink(known, url, 'There is this user already, with the same rights as before.')
  }
  const { role, name = email, content } = options
  if (role === undefined)
    throw validationError({ path: '/--role', message: `is required: ${userRoles.join(', ')}` })
  const tenants = await tenantsOf(deps.db, role, options.tenant)
  const body = {
    ...{ email, name, role },
    ...(tenants === undefined ? {} : { tenants: [...new Set(tenants)] }),
    ...(content === undefined ? {} : { content }),
  }
  const { user, invitationUrl } = await audited(deps.db, {
    operation: 'createUser',
    work: () => createUser(deps, body, fullGrantor),
    madeOf: (made) => made.user.userId,
  })
  return shownLink(user.userId, invitationUrl, `Invited as ${role}.`)
}

/** Those that are named; for a role in tenants the only one there is. */
async function tenantsOf(db: Db, role: UserRole, named: readonly string[] | undefined) {
  for (const tenant of named ?? []) await tenantIdsOf(db, tenant)
  const isOperator = operatorRoles.some((one) => one === role)
  return named === undefined && !isOperator ? [await theTenant(db, undefined)] : named
}

function shownLink(userId: string, url: string, text: string): Result {
  return {
    json: { user_id: userId, invitation_url: url },
    text: `${text} This link sets the password. It works once, for 7 days:\n\n  ${url}`,
  }
}

const HEAD = ['USER', 'ADDRESS', 'ROLE', 'STATE', 'TENANTS', 'NAME']

async function listResult(db: Db): Promise<Result> {
  const users = await readAll(async (pageToken) => {
    const page = await pageOfUsers({ db }, { pageSize: 500, ...pageToken })
    return { items: page.users, token: page.nextPageToken }
  })
  const lines = users.map((user) => [
    ...[user.user_id, user.email, user.role ?? 'no role', user.state],
    ...[user.tenants.length === 0 ? '-' : user.tenants.join(','), user.name],
  ])
  return { json: { users }, text: lines.length === 0 ? 'No users' : table([HEAD, ...lines]) }
}

async function deleteResult(db: Db, who: string): Promise<Result> {
  const absence = `There is no user ${who}`
  const userId = await findUserId({ db }, who)
  if (userId === undefined) throw new ApiError('not_found', { message: absence })
  const work = () => deleteUser({ db }, userId)
  await named(absence, () => audited(db, { operation: 'deleteUser', target: userId, work }))
  return { json: { user_id: userId }, text: `Deleted ${userId}` }
}
