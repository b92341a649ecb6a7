/** The statement of provenance, as in-toto and SLSA define its members. */
import { expect, it } from 'vitest'
import { checksums } from './release/artifacts.ts'
import { provenanceOf } from './release/provenance.ts'

const artifacts = [{ name: 'a.tgz', bytes: 5, sha256: 'ab'.repeat(32) }]
const origin = {
  ...{ version: '1.0.0-rc.1', commit: 'cd'.repeat(20), lockSha256: 'ef'.repeat(32) },
  ...{ node: '24.0.0', parts: ['npm'], sourceDateEpoch: 1_700_000_000 },
}

it('names each file by its digest, and the commit, the lock file and the Node that it was made with', () => {
  const statement = provenanceOf(artifacts, origin, {})
  expect(statement).toMatchObject({
    _type: 'https://in-toto.io/Statement/v1',
    subject: [{ name: 'a.tgz', digest: { sha256: 'ab'.repeat(32) } }],
    predicateType: 'https://slsa.dev/provenance/v1',
  })
  const { buildDefinition, runDetails } = statement.predicate
  expect(buildDefinition.externalParameters).toEqual({ version: '1.0.0-rc.1', parts: ['npm'] })
  expect(buildDefinition.resolvedDependencies).toEqual([
    { name: 'source', digest: { gitCommit: 'cd'.repeat(20) } },
    { name: 'package-lock.json', digest: { sha256: 'ef'.repeat(32) } },
    { name: 'node', uri: 'pkg:npm/node@24.0.0' },
  ])
  expect(runDetails).toEqual({ builder: { id: 'urn:postrider:release' } })
})

it('names the workflow and its run where there is one', () => {
  const { buildDefinition, runDetails } = provenanceOf(artifacts, origin, {
    GITHUB_SERVER_URL: 'https://git.example.com',
    GITHUB_REPOSITORY: 'some/postrider',
    GITHUB_WORKFLOW_REF: 'some/postrider/.github/workflows/release.yml@refs/tags/v1',
    GITHUB_RUN_ID: '7',
    GITHUB_RUN_ATTEMPT: '2',
  }).predicate
  expect(buildDefinition.resolvedDependencies[0]).toMatchObject({
    uri: 'git+https://git.example.com/some/postrider',
  })
  expect(runDetails).toEqual({
    builder: {
      id: 'https://git.example.com/some/postrider/.github/workflows/release.yml@refs/tags/v1',
    },
    metadata: {
      invocationId: 'https://git.example.com/some/postrider/actions/runs/7/attempts/2',
    },
  })
})

it('writes checksums as sha256sum does', () => {
  expect(checksums(artifacts)).toBe(`${'ab'.repeat(32)}  a.tgz\n`)
})
