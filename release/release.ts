/**
 * Builds a release: `npm run release`. It builds every part into `dist`, and puts the files that are published into
 * `dist/release`, with their checksums, the statement of provenance, and the words of CHANGELOG.md.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sectionOf } from './changelog/sections.ts'
import { git } from './git.ts'
import { type Artifact, checksums, collectArtifacts, sha256Of } from './release/artifacts.ts'
import { unmetConditions } from './release/conditions.ts'
import { provenanceOf } from './release/provenance.ts'

/** Each is a script of package.json, `release:<part>`; later ones may use what earlier ones left in `dist`. */
const PARTS = ['npm', 'image', 'deb']

interface Release {
  readonly version: string
  readonly parts: readonly string[]
  /** Where the files are. */
  readonly folder: string
  readonly artifacts: readonly Artifact[]
}

interface Manifest {
  readonly version: string
  readonly scripts: Readonly<Record<string, string>>
  readonly dependencies: Readonly<Record<string, string>>
}

/** An expected refusal: its message is all that the reader needs. */
export class ReleaseError extends Error {}

export async function buildRelease(root: string, env: NodeJS.ProcessEnv): Promise<Release> {
  const manifest: Manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const { version, scripts } = manifest
  const unmet = unmetConditions(root, version)
  if (unmet.length > 0) throw new ReleaseError(`no release of ${version}:\n- ${unmet.join('\n- ')}`)

  const parts = PARTS.filter((part) => `release:${part}` in scripts)
  const dist = join(root, 'dist')
  const sourceDateEpoch = Number(git(root, 'log', '-1', '--format=%ct'))
  rmSync(dist, { recursive: true, force: true })
  for (const part of parts)
    run(root, `release:${part}`, { ...env, SOURCE_DATE_EPOCH: String(sourceDateEpoch) })

  const folder = join(dist, 'release')
  const artifacts = await collectArtifacts(dist, folder)
  if (artifacts.length === 0) throw new ReleaseError('the parts of the release made no file')
  const origin = {
    ...{ version, parts, sourceDateEpoch },
    commit: git(root, 'rev-parse', 'HEAD'),
    lockSha256: await sha256Of(join(root, 'package-lock.json')),
    node: manifest.dependencies.node ?? process.versions.node,
  }
  const provenance = JSON.stringify(provenanceOf(artifacts, origin, env), undefined, 2)
  const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8')
  writeFileSync(join(folder, 'SHA256SUMS'), checksums(artifacts))
  writeFileSync(join(folder, 'provenance.json'), `${provenance}\n`)
  writeFileSync(join(folder, 'release-notes.md'), `${sectionOf(changelog, version)}\n`)
  return { version, parts, folder, artifacts }
}

function run(root: string, script: string, env: NodeJS.ProcessEnv): void {
  const { status, error } = spawnSync('npm', ['run', '--silent', script], {
    ...{ cwd: root, env },
    stdio: 'inherit',
  })
  if (error) throw error
  if (status !== 0) throw new ReleaseError(`npm run ${script} failed`)
}

function describe({ version, parts, folder, artifacts }: Release): string {
  const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`.padStart(10)
  const lines = artifacts.map(({ name, bytes }) => `${megabytes(bytes)}  ${name}`)
  return [`${version} (${parts.join(', ')}) is in ${folder}:`, ...lines].join('\n')
}

if (import.meta.main) {
  try {
    console.log(
      describe(await buildRelease(fileURLToPath(new URL('..', import.meta.url)), process.env)),
    )
  } catch (error) {
    if (!(error instanceof ReleaseError)) throw error
    console.error(error.message)
    process.exitCode = 1
  }
}
