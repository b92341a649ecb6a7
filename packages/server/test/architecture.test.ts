/** The import rules of `.dependency-cruiser.cjs`, over every source file of the repository. */
import { existsSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { cruise, type ICruiseResult } from 'dependency-cruiser'
import extractDepcruiseOptions from 'dependency-cruiser/config-utl/extract-depcruise-options'
import { beforeAll, describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const folders = ['packages', 'e2e', 'bench'].filter((folder) => existsSync(root + folder))

describe('architecture', () => {
  let result: ICruiseResult
  beforeAll(async () => {
    const options = await extractDepcruiseOptions(`${root}.dependency-cruiser.cjs`)
    const { output } = await cruise(folders, { ...options, baseDir: root })
    if (typeof output === 'string') throw new Error(output)
    result = output
  })

  it('reads every source file with its imports', () => {
    const seen = new Set(result.modules.map((module) => module.source))
    const files = folders.flatMap((folder) =>
      readdirSync(root + folder, { recursive: true, encoding: 'utf8' })
        // As the options exclude: what another test writes and removes.
        .filter((path) => path.endsWith('.ts') && !path.endsWith('.tmp.ts'))
        .filter((path) => !/(^|\/)(node_modules|dist)\//.test(path))
        .map((path) => `${folder}/${path}`),
    )
    expect(files.length).toBeGreaterThan(0)
    expect(files.filter((file) => !seen.has(file))).toEqual([])
    expect(result.summary.totalDependenciesCruised ?? 0).toBeGreaterThan(files.length)
  })

  it('no import breaks a rule', () => {
    const broken = result.summary.violations.map(
      ({ rule, from, to }) => `${rule.name}: ${from} -> ${to}`,
    )
    expect(broken).toEqual([])
  })
})
