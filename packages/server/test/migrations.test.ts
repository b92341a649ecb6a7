/**
 * The baseline explains each table. Migrations that come after it are safe on tables in use. That breaking ones are
 * in the changelog is tested in release/.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { brokenRules, rules } from './migration-rules.ts'

const root = new URL('../../../', import.meta.url)
const dir = new URL('packages/server/migrations/', root)
/** It makes a schema that nobody has in use yet. */
const BASELINE = '0001_baseline.sql'

const files = readdirSync(dir)
  .sort()
  .map((name) => ({ name, text: readFileSync(new URL(name, dir), 'utf8') }))

const brokenBy = (text = '', before = '') =>
  brokenRules([
    { name: 'before', text: before },
    { name: 'x', text },
  ]).map((problem) => problem.split(' ')[1]?.replace(':', ''))

it('new migrations break no rule', () => {
  const problems = files.flatMap(({ name }, index) =>
    name === BASELINE ? [] : brokenRules(files.slice(0, index + 1)),
  )
  expect(problems).toEqual([])
})

it('the baseline comes first, and has a comment before each of its tables', () => {
  expect(files[0]?.name).toBe(BASELINE)
  const tables = [...(files[0]?.text ?? '').matchAll(/^(.*)\n+create table (\w+)/gm)]
  expect(tables.length).toBeGreaterThan(50)
  expect(tables.flatMap(([, before, name]) => (before?.startsWith('-- ') ? [] : name))).toEqual([])
})

const unsafe: readonly (readonly [keyof typeof rules, string, string?])[] = [
  ['index-on-table-in-use', 'create index email_a on email (a)'],
  ['index-on-table-in-use', 'create unique index if not exists email_a on email (a)'],
  ['index-on-table-in-use', "comment on table email is 'x'; create index on email (lower(a))"],
  ['concurrently-in-transaction', 'create index concurrently email_a on email (a)'],
  ['concurrent-file', '-- concurrently\ncreate index concurrently email_a on email (a)'],
  [
    'concurrent-file',
    '-- concurrently\ndrop index concurrently if exists b;create index concurrently a on email (a)',
  ],
  ['concurrent-file', '-- concurrently\nalter table email add column a int'],
  ['set-not-null', 'alter table email alter column a set not null'],
  [
    'set-not-null',
    'alter table email alter a set not null',
    'alter table email add constraint c check (a is not null) not valid',
  ],
  ['column-type', 'alter table email alter column a type bigint'],
  ['column-type', 'alter table only email add b int, alter a set data type text'],
  ['rewriting-column', 'alter table email add column a timestamptz default clock_timestamp()'],
  ['rewriting-column', 'alter table email add column a bigserial'],
  ['rewriting-column', 'alter table email add a int generated always as (b + 1) stored'],
  ['not-null-without-default', 'alter table email add column a int not null'],
  ['constraint-at-once', 'alter table email add constraint c check (a > 0)'],
  ['constraint-at-once', 'alter table email add foreign key (a) references b (a)'],
  ['constraint-at-once', 'alter table email add column a int references b (a)'],
  ['constraint-at-once', 'alter table email add constraint u unique (a)'],
  [
    'validated-with-its-addition',
    'alter table email add constraint c check (a > 0) not valid; alter table email validate constraint c',
  ],
  ['whole-table', 'vacuum full email'],
  ['whole-table', 'lock table email in exclusive mode'],
  ['whole-table', 'alter table email set unlogged'],
  ['all-rows', 'update email set a = 1'],
  ['all-rows', 'delete from email'],
  ['unmarked-breaking', 'drop table email'],
  ['unmarked-breaking', 'alter table email drop column a'],
  ['unmarked-breaking', 'alter table email rename column a to b'],
  ['own-lock-timeout', "set local lock_timeout = '1h'"],
]

const safe: readonly (readonly [string, string, string?])[] = [
  ['an index on a table of the same file', 'create table a (b int); create index on a (b)'],
  ['an index that new partitions get', 'create index email_a on only email (a)'],
  [
    'an index that is built concurrently, and again',
    '-- concurrently\ndrop index concurrently if exists email_a;\ncreate index concurrently email_a on email (a);',
  ],
  [
    'not null that is proven',
    'alter table email alter column a set not null',
    'alter table email add constraint c check (a is not null) not valid; alter table email validate constraint c',
  ],
  ['a column with a constant default', "alter table email add column a text not null default ''"],
  ['a column that may be null', 'alter table email add column a int, add column b text'],
  ['a check that is not valid yet', 'alter table email add constraint c check (a > 0) not valid'],
  [
    'a key by an index',
    'alter table email add constraint u unique using index email_a, drop constraint v',
  ],
  ['some rows', 'update email set a = 1 where b = 2'],
  ['a column that goes, marked', '-- breaking: a goes\nalter table email drop column a'],
  ['words in comments and strings', "-- drop table a\nselect 'create index a on b (c)'"],
  [
    'words in functions',
    'create function f() returns void language plpgsql as $$ begin delete from email; end $$',
  ],
]

describe('the rules of migrations', () => {
  it.each(unsafe)('%s refuses: %s', (rule, text, before) => {
    expect(brokenBy(text, before)).toContain(rule)
  })

  it.each(safe)('accept %s', (_, text, before) => {
    expect(brokenBy(text, before)).toEqual([])
  })

  it('each refuse an example here', () => {
    expect(new Set(unsafe.map(([rule]) => rule))).toEqual(new Set(Object.keys(rules)))
  })
})
