/**
 * A Debian of its own for a test: this machine's files, over which every change is kept in memory. It has no
 * Node but the one that a package brings. Its network is the machine's.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'

export interface DebianRoot {
  /** Runs a command line of `sh` as root, and gives what it wrote. Throws when it fails. */
  readonly run: (command: string) => string
  /** The arguments of a program that runs a command line in there, as a user: the last one is the line. */
  readonly argvAs: (user: string, line: string) => readonly [string, string, ...string[]]
  readonly close: () => Promise<void>
}

const MOUNT = `
set -e
mount -t tmpfs -o mode=755 changes /mnt
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work overlay /mnt/root
for dir in dev proc sys; do mount --rbind /$dir /mnt/root/$dir; done
mount -t tmpfs -o mode=1777 tmp /mnt/root/tmp
mount -t tmpfs -o mode=755 run /mnt/root/run
rm -f /mnt/root/usr/bin/node /mnt/root/usr/local/bin/node
echo mounted
exec sleep 900
`
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

export async function createDebianRoot(): Promise<DebianRoot> {
  const holder: ChildProcess = spawn('unshare', ['--mount', 'sh', '-c', MOUNT], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(holder, 'exit')
  const mounted = await Promise.race([once(holder.stdout ?? holder, 'data'), ended])
  if (!String(mounted[0]).includes('mounted')) throw new Error('the files could not be mounted')
  const inside = [String(holder.pid), '--mount', 'chroot', '/mnt/root', 'env', '-i', `PATH=${PATH}`]
  return {
    run: (command) =>
      execFileSync(
        'nsenter',
        ['-t', ...inside, 'DEBIAN_FRONTEND=noninteractive', 'sh', '-c', command],
        {
          encoding: 'utf8',
          stdio: ['ignore', 'pipe', 'pipe'],
          timeout: 60_000,
        },
      ),
    argvAs: (user, line) => [
      'nsenter',
      '-t',
      ...inside,
      ...['setpriv', `--reuid=${user}`, `--regid=${user}`, '--init-groups', '--no-new-privs'],
      ...['--bounding-set=-all', 'sh', '-c', `exec ${line}`],
    ],
    close: async () => {
      holder.kill()
      await ended
    },
  }
}
