/**
 * Gives all packages of this repository one version: `node release/set-version.ts 1.0.0`. They are released
 * together. What the service and the client say of themselves follows.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { root, toJson } from './npm/project.ts'

const VERSION = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/
const OWN = /^@postrider\//
const SECTIONS = ['dependencies', 'devDependencies', 'optionalDependencies'] as const

/** Other files that have it, each in one place. */
const texts = [
  { file: 'packages/client/src/core/user-agent.ts', place: /(?<=const version = ')[^']+/ },
  { file: 'docs/openapi.json', place: /(?<="info": \{[^}]*"version": ")[^"]+/ },
  { file: 'deploy/compose.yaml', place: /(?<=image: postrider:)\S+/ },
  { file: 'deploy/kubernetes/kustomization.yaml', place: /(?<=newTag: )\S+/ },
] as const

type Manifest = { version?: string; workspaces?: string[] } & {
  [section in (typeof SECTIONS)[number]]?: Record<string, string>
}

/** Folders of all packages, the root's is empty. */
function folders(): string[] {
  const { workspaces = [] } = readJson<Manifest>('package.json')
  const found = workspaces.flatMap((pattern) =>
    pattern.endsWith('/*')
      ? readdirSync(join(root, pattern.slice(0, -2))).map((name) => pattern.replace('*', name))
      : [pattern],
  )
  return ['', ...found.filter((folder) => existsSync(join(root, folder, 'package.json')))]
}

/** The version itself, and those of our packages that it depends on. */
export function withVersion<T extends Manifest>(manifest: T, version: string): T {
  const sections = SECTIONS.flatMap((section) => {
    const packages = manifest[section]
    if (packages === undefined) return []
    const changed = Object.entries(packages).map(([name, exact]) => [
      name,
      OWN.test(name) ? version : exact,
    ])
    return [[section, Object.fromEntries(changed)]]
  })
  return { ...manifest, version, ...Object.fromEntries(sections) }
}

/** Every file that has the version, as it is with this version. */
export function filesWith(version: string): ReadonlyMap<string, string> {
  const all = folders()
  const manifests = all.map((folder) => join(folder, 'package.json'))
  const lock = readJson<Manifest & { packages: Record<string, Manifest> }>('package-lock.json')
  const packages = Object.entries(lock.packages).map(([path, entry]) => [
    path,
    all.includes(path) ? withVersion(entry, version) : entry,
  ])
  return new Map([
    ...manifests.map((file) => [file, toJson(withVersion(readJson(file), version))] as const),
    ['package-lock.json', toJson({ ...lock, version, packages: Object.fromEntries(packages) })],
    ...texts.map(({ file, place }) => [file, read(file).replace(place, version)] as const),
  ])
}

export function read(file: string): string {
  return readFileSync(join(root, file), 'utf8')
}

function readJson<T>(file: string): T {
  return JSON.parse(read(file))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [version = ''] = process.argv.slice(2)
  if (VERSION.test(version)) {
    for (const [file, text] of filesWith(version)) writeFileSync(join(root, file), text)
    console.log(`All packages are ${version}.`)
  } else {
    console.error('Say which version, such as: node release/set-version.ts 1.0.0')
    process.exitCode = 2
  }
}
