/** The import rules of `.dependency-cruiser.cjs`, over every source file of the repository. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
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

describe('documents of the structure', () => {
  const read = (path: string): string => readFileSync(root + path, 'utf8')
  const page = read('ARCHITECTURE.md')
  const foldersOf = (path: string): string[] =>
    readdirSync(root + path, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name)

  it('ARCHITECTURE.md has the capabilities in the order of the rules', () => {
    const [, list = ''] = /const ORDER = \[([^\]]+)\]/.exec(read('.dependency-cruiser.cjs')) ?? []
    const order = [...list.matchAll(/'(\w+)'/g)].map(([, name]) => name)
    expect(page).toContain(`\`${order.join(' → ')}\``)
    const others = ['cli', 'doctor']
    expect(foldersOf('packages/server/src').toSorted()).toEqual([...order, ...others].toSorted())
  })

  it('ARCHITECTURE.md says what every folder of platform holds', () => {
    const [, table = ''] = /\| Folder of `platform` \|(.*?)\n\n/s.exec(page) ?? []
    const named = [...table.matchAll(/^\| (`.+?) \|/gm)].flatMap(([, names = '']) =>
      [...names.matchAll(/`([\w-]+)`/g)].map(([, name]) => name),
    )
    expect(named.toSorted()).toEqual(foldersOf('packages/server/src/platform').toSorted())
  })

  it('the README of the contract names every file', () => {
    const named = [...read('packages/contract/README.md').matchAll(/`([\w-]+\.ts)`/g)]
    const files = readdirSync(`${root}packages/contract/src`).filter((f) => !f.includes('.test.'))
    expect(named.map(([, file]) => file).toSorted()).toEqual(files.toSorted())
  })
})
