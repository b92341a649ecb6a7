/** Properties of the code itself that no linter checks. */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { foreignTables } from './foreign-tables.ts'

const packages = new URL('../../', import.meta.url)
const server = new URL('server/src/', packages)

/** What is started as a process of its own does something when it is loaded, nothing else does. */
const programs = /(^|[/-])main\.ts$|^demo\.ts$/

function sourcesOf(directory: URL): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !/\.(test|fixture)\.ts$/.test(path))
    .sort()
}

/** In a fresh process: a test runner's own handles come and go and would hide or fake a leak. */
function resourcesAfterImporting(files: readonly string[]): string {
  const script = `
    for (const file of ${JSON.stringify(files)}) await import(file)
    await new Promise((resolve) => setImmediate(resolve))
    const ours = process.getActiveResourcesInfo().filter((name) => !/Pipe|TTY/.test(name))
    process.stdout.write(JSON.stringify(ours), () => process.exit(0))`
  const child = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE },
  })
  return child.stdout + child.stderr
}

describe('source files', () => {
  it.each(['contract', 'client', 'testkit', 'runtime', 'mail', 'embedded-postgres', 'server'])(
    'source files of %s open no socket, timer or file at import, and print nothing',
    (name) => {
      const source = new URL(`${name}/src/`, packages)
      const files = sourcesOf(source).filter((path) => !programs.test(path))
      expect(files.length).toBeGreaterThan(0)
      expect(resourcesAfterImporting(files.map((path) => new URL(path, source).href))).toBe('[]')
    },
  )

  it('source files of a store use only tables that start with their own capability', () => {
    const stores = sourcesOf(server).filter((path) => path.endsWith('store.ts'))
    expect(stores.length).toBeGreaterThan(0)
    const foreign = stores.flatMap((path) => {
      const capability = path.split('/')[0] ?? ''
      const text = readFileSync(new URL(path, server), 'utf8')
      return foreignTables(text, capability).map((table) => `${path}: ${table}`)
    })
    expect(foreign).toEqual([])
  })

  it('give every statement a name of its own, as a connection requires', () => {
    const names = sourcesOf(server).flatMap((path) => {
      const text = readFileSync(new URL(path, server), 'utf8')
      return [...text.matchAll(/\bstatement\(\s*'([^']+)'/g)].flatMap(([, name]) => name ?? [])
    })
    expect(names.length).toBeGreaterThan(100)
    expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([])
  })

  it('[S10] time waits for mail servers by a clock that cannot be set', () => {
    const timed = ['mail/src/', 'server/src/mailers/', 'server/src/sending/'].flatMap((folder) =>
      sourcesOf(new URL(folder, packages)).map((path) => new URL(folder + path, packages)),
    )
    expect(timed.length).toBeGreaterThan(200)
    expect(timed.filter((file) => /Date\.now\b/.test(readFileSync(file, 'utf8')))).toEqual([])
  })

  it('source files with a foreign table in a statement are found', () => {
    const seen = (sql: string) => foreignTables(`const a = statement('a', \`${sql}\`)`, 'sending')
    expect(seen('select 1 from sending_email e join webhooks_event w on true')).toEqual([
      'webhooks_event',
    ])
    expect(seen('insert into mailers_mailer (a) values ($1)')).toEqual(['mailers_mailer'])
    expect(seen('delete from tenants_key using webhooks_event')).toEqual([
      'tenants_key',
      'webhooks_event',
    ])
    expect(seen('update mailers_mailer set a = 1')).toEqual(['mailers_mailer'])
    expect(foreignTables("insertRows(q, { into: 'webhooks_event' })", 'sending')).toEqual([
      'webhooks_event',
    ])
    expect(
      seen(`with due as (select 1 from sending_queue for update skip locked)
        -- before the join begins
        insert into sending_email select extract(epoch from now()) from due
        cross join rows from (unnest($1), unnest($2)) as k(a, b)
        on conflict do update set a = excluded.a where a is distinct from excluded.a`),
    ).toEqual([])
  })
})
