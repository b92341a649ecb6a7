/**
 * Decides as which user the embedded PostgreSQL runs.
 *
 * PostgreSQL refuses to run as root. So as root it runs as `postgres`, or `nobody`. Where that user cannot
 * reach the data directory or the binaries (a checkout under /root), the server keeps, of all of root's powers, only
 * those to pass file permissions, through util-linux' setpriv.
 */
import { spawnSync } from 'node:child_process'
import { chownSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { PostgresBinaries } from './binaries.ts'

export interface ServerAccount {
  /** Command and leading arguments that start `program` under this account. */
  command(program: string, args: readonly string[]): { file: string; args: string[] }
  readonly ids: { uid?: number; gid?: number }
  /** Gives a path to the account. */
  own(path: string): void
  /** Under which the server's files and sockets are. */
  readonly uid: number
  readonly isRoot: boolean
  readonly detail: string
}

/** `data` must exist; `database` may: a database that another account made stays with it. */
export function chooseServerAccount(
  { initdb, env }: PostgresBinaries,
  paths: { data: string; database?: string },
): ServerAccount {
  if (process.getuid?.() !== 0) return ownAccount()
  const user =
    findOwner(paths.database) ?? findUser(isNamed('postgres')) ?? findUser(isNamed('nobody'))
  if (user === undefined)
    throw new Error(
      'PostgreSQL does not run as root, and there is neither a user "postgres" nor "nobody": run as an ordinary user, or set POSTRIDER_DATABASE_URL',
    )
  const own = (path: string) => chownSync(path, user.uid, user.gid)
  const blocked = [paths.data, initdb].find((path) => !canReach(path, user))
  if (blocked === undefined)
    return {
      command: (file, args) => ({ file, args: [...args] }),
      ids: { uid: user.uid, gid: user.gid },
      own,
      uid: user.uid,
      isRoot: true,
      detail: `user ${user.name}`,
    }
  const prefix = findSetpriv(user, initdb, env)
  if (prefix === undefined)
    throw new Error(
      `PostgreSQL does not run as root, and user "${user.name}" cannot reach ${blocked}: set POSTRIDER_DATA_DIR to a directory that it can reach (and keep the program itself outside of /root), run as an ordinary user, or set POSTRIDER_DATABASE_URL`,
    )
  return {
    command: (file, args) => ({ file: 'setpriv', args: [...prefix, file, ...args] }),
    ids: {},
    own,
    uid: user.uid,
    isRoot: true,
    detail: `user ${user.name} with leave to pass file permissions, because it cannot reach ${blocked}`,
  }
}

function ownAccount(): ServerAccount {
  return {
    command: (file, args) => ({ file, args: [...args] }),
    ids: {},
    own: () => undefined,
    uid: process.getuid?.() ?? -1,
    isRoot: false,
    detail: 'user of the service',
  }
}

interface User {
  readonly name: string
  readonly uid: number
  readonly gid: number
}

function findOwner(path: string | undefined): User | undefined {
  const stat = path === undefined ? undefined : statSync(path, { throwIfNoEntry: false })
  if (stat === undefined || stat.uid === 0) return undefined
  const name = findUser((user) => user.uid === stat.uid)?.name ?? `#${stat.uid}`
  return { name, uid: stat.uid, gid: stat.gid }
}

const isNamed = (name: string) => (user: User) => user.name === name

function findUser(isWanted: (user: User) => boolean): User | undefined {
  return readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .map(([name = '', , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid) }))
    .find((user) => user.name !== '' && isWanted(user))
}

/** Whether every directory above the path lets the user through. */
function canReach(path: string, user: User): boolean {
  for (let at = dirname(realpathSync(path)); ; at = dirname(at)) {
    const { mode, uid, gid } = statSync(at)
    const shift = uid === user.uid ? 6 : gid === user.gid ? 3 : 0
    if (((mode >> shift) & 1) === 0) return false
    if (at === dirname(at)) return true
  }
}

const attempts = [
  ['--inh-caps=+dac_override,+dac_read_search', '--ambient-caps=+dac_override,+dac_read_search'],
  // Containers often withhold dac_read_search.
  ['--inh-caps=+dac_override', '--ambient-caps=+dac_override'],
].flatMap((capabilities) => [
  capabilities,
  // access(2), by which initdb looks for its neighbours, otherwise ignores the powers of any user but root.
  ['--securebits=+no_setuid_fixup', ...capabilities],
])

/** The first way that this machine grants and that suffices; undefined where there is no setpriv. */
function findSetpriv(
  user: User,
  initdb: string,
  env: PostgresBinaries['env'],
): string[] | undefined {
  const identity = [`--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups']
  for (const attempt of attempts) {
    const args = [...identity, ...attempt, '--']
    // Prints its settings, for which it must find and run the server's binary.
    const probe = [initdb, '--show', '--pgdata=/nonexistent', '--username=postgres']
    const { status } = spawnSync('setpriv', [...args, ...probe], {
      stdio: 'ignore',
      cwd: '/',
      env,
    })
    if (status === 0) return args
  }
  return undefined
}
