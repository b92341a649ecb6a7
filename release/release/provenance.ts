/**
 * The statement of what was built from what: in-toto Statement v1 with the predicate SLSA Provenance v1. It has no
 * signature here. The workflow of a release makes one of its own, which is signed.
 */
import type { Artifact } from './artifacts.ts'

export interface Origin {
  readonly version: string
  readonly commit: string
  /** Of package-lock.json. */
  readonly lockSha256: string
  readonly node: string
  readonly parts: readonly string[]
  /** Seconds; the time of the commit, which stands for the time of the build in all files. */
  readonly sourceDateEpoch: number
}

type Environment = Readonly<Record<string, string | undefined>>

/** @param env of a workflow of GitHub Actions; elsewhere nothing of it is there */
export function provenanceOf(artifacts: readonly Artifact[], origin: Origin, env: Environment) {
  const repository = env.GITHUB_REPOSITORY && `${env.GITHUB_SERVER_URL}/${env.GITHUB_REPOSITORY}`
  const run = repository && `${repository}/actions/runs/${env.GITHUB_RUN_ID}`
  const workflow = repository && `${env.GITHUB_SERVER_URL}/${env.GITHUB_WORKFLOW_REF}`
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: artifacts.map(({ name, sha256 }) => ({ name, digest: { sha256 } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'urn:postrider:release:v1',
        externalParameters: { version: origin.version, parts: origin.parts },
        internalParameters: { sourceDateEpoch: origin.sourceDateEpoch },
        resolvedDependencies: [
          {
            name: 'source',
            ...(repository && { uri: `git+${repository}` }),
            digest: { gitCommit: origin.commit },
          },
          { name: 'package-lock.json', digest: { sha256: origin.lockSha256 } },
          { name: 'node', uri: `pkg:npm/node@${origin.node}` },
        ],
      },
      runDetails: {
        builder: { id: workflow ?? 'urn:postrider:release' },
        ...(run && { metadata: { invocationId: `${run}/attempts/${env.GITHUB_RUN_ATTEMPT}` } }),
      },
    },
  }
}
