/**
 * Runs an image of this machine's architecture without a container engine: its user, its environment and its
 * command, in a file system of its own that cannot be written. The network is the machine's. Needs root.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { zstdDecompressSync } from 'node:zlib'

interface ImageConfig {
  readonly User: string
  readonly WorkingDir: string
  readonly Env: readonly string[]
  readonly Entrypoint: readonly string[]
  readonly Cmd: readonly string[]
  readonly Healthcheck: { readonly Test: readonly string[] }
  readonly ExposedPorts: Readonly<Record<string, unknown>>
  readonly Labels: Readonly<Record<string, string>>
  readonly StopSignal: string
}

export interface UnpackedImage {
  /** Its files, of all layers. */
  readonly root: string
  readonly architecture: string
  readonly config: ImageConfig
  readonly layers: readonly UnpackedLayer[]
  remove(): void
}

interface UnpackedLayer {
  readonly digest: string
  /** What it was made for. */
  readonly what: string
  /** As `tar --list --verbose` shows each file. */
  readonly files: readonly string[]
}

export function unpackImage(path: string): UnpackedImage {
  const work = mkdtempSync(join(tmpdir(), 'postrider-unpacked-'))
  const root = join(work, 'root')
  const layout = join(work, 'layout')
  for (const dir of [root, layout]) mkdirSync(dir)
  execFileSync('tar', ['--extract', '--file', path, '--directory', layout])
  const blob = (digest: string) => readFileSync(join(layout, 'blobs', digest.replace(':', '/')))
  const json = (digest: string) => JSON.parse(blob(digest).toString())
  const index = JSON.parse(readFileSync(join(layout, 'index.json'), 'utf8'))
  const manifest = json(index.manifests[0].digest)
  const { architecture, config, history } = json(manifest.config.digest)
  const layers = manifest.layers.map(({ digest }: { digest: string }, n: number) => {
    const input = zstdDecompressSync(blob(digest))
    const tar = (...args: string[]) =>
      execFileSync('tar', args, { input, maxBuffer: 2 ** 28, encoding: 'utf8' })
    tar('--extract', '--directory', root, '--same-permissions', '--same-owner', '--numeric-owner')
    const files = tar('--list', '--verbose', '--numeric-owner', '--utc').trimEnd().split('\n')
    return { digest, what: history[n].created_by, files }
  })
  rmSync(layout, { recursive: true })
  const remove = () => rmSync(work, { recursive: true, force: true })
  return { root, architecture, config, layers, remove }
}

interface RunOptions {
  /** By full names, over those of the image. */
  readonly env: Readonly<Record<string, string>>
  /** What is mounted where the image keeps data. Without it nothing but /tmp can be written. */
  readonly dataDir?: string
  /** Instead of what the image runs. */
  readonly command?: readonly string[]
}

/** `chroot` is at the end: the program becomes the first process of its own, as in a container. */
const ENTER = `
set -e
root=$1 user=$2 work=$3 data=$4
shift 4
mount --bind "$root" "$root"
mount -o remount,bind,ro "$root"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
[ -z "$data" ] || mount --bind "$data" "$root/var/lib/postrider"
exec chroot --userspec="$user" "$root" /bin/sh -c 'cd "$1"; shift; exec "$@"' sh "$work" "$@"
`

const NAMESPACES = ['--mount', '--pid', '--fork', '--kill-child']

/** The arguments of `unshare`, and the whole environment. */
export function argvOf(image: UnpackedImage, o: RunOptions) {
  const { User, WorkingDir, Env, Entrypoint, Cmd } = image.config
  const command = o.command ?? [...Entrypoint, ...Cmd]
  const own = Object.fromEntries(Env.map((entry) => entry.split(/=(.*)/s, 2)))
  const args = [image.root, User, WorkingDir, o.dataDir ?? '', ...command]
  // This machine's programs mount; the image's PATH follows.
  const env: Record<string, string> = { ...own, ...o.env }
  env.PATH = `/usr/sbin:/sbin:${env.PATH}`
  return { args: [...NAMESPACES, '/bin/sh', '-c', ENTER, 'sh', ...args], env }
}

/** Of the program, as this machine counts: the one child of `unshare`, which ends as the program does. */
export function programOf(unsharePid: number): number {
  return Number(readFileSync(`/proc/${unsharePid}/task/${unsharePid}/children`, 'utf8'))
}
