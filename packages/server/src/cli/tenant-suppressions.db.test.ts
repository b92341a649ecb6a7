import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/database.ts'
import { emptyTables } from '../../test/empty-tables.ts'
import { runCli } from '../cli.ts'

let database: TestDatabase
let dir: string
let tenantId: string
beforeAll(async () => {
  database = await createTestDatabase()
  dir = mkdtempSync(join(tmpdir(), 'postrider-cli-'))
})
afterAll(async () => {
  rmSync(dir, { recursive: true })
  await database.close()
})
beforeEach(async () => {
  await emptyTables(database.db, 'suppressions_address', 'tenants_api_key', 'tenants_tenant')
  tenantId = (await run('tenant', 'create', 'Acme', '--json')).json().tenant_id
})

async function run(...args: string[]) {
  let [out, err] = ['', '']
  const env = { POSTRIDER_DATABASE_URL: database.url }
  const io = { env, out: (text: string) => (out += text), err: (text: string) => (err += text) }
  const code = await runCli(args, io)
  return { code, out, err, json: () => JSON.parse(out) }
}
const suppression = (...args: string[]) => run('suppression', ...args, '--tenant', tenantId)

describe('postrider suppression', () => {
  it('needs no tenant where there is one, and names the option where there are several', async () => {
    expect(await run('suppression', 'list')).toMatchObject({ code: 0, out: 'No suppressions\n' })
    await run('tenant', 'create', 'Other')
    const { code, err } = await run('suppression', 'list')
    expect([code, err]).toEqual([1, expect.stringContaining('name one with --tenant')])
  })

  it('repeats what is wrong with a file without a blank in front', async () => {
    const file = join(dir, 'ses.csv')
    writeFileSync(file, 'EmailAddress,Reason\n')
    expect((await suppression('import', file)).err).toMatch(
      /^the header, line 1 of the file, is that of the format ses/,
    )
  })

  it('adds, shows, lists and removes an address', async () => {
    const added = await suppression(
      ...['add', 'ada@example.com', '--reason', 'complained', '--note', 'By phone'],
      ...['--expires', '90d', '--json'],
    )
    expect(added.code).toBe(0)
    const one = {
      email: 'ada@example.com',
      reason: 'complained',
      source: { key_id: 'operator' },
      note: 'By phone',
      expires_at: expect.stringMatching(/Z$/),
    }
    expect(added.json().suppression).toMatchObject(one)
    expect((await suppression('show', 'ADA@example.com', '--json')).json()).toMatchObject({
      suppression: one,
    })
    expect((await suppression('show', 'ada@example.com')).out).toContain('By phone')
    expect((await suppression('list', '--reason', 'bounced')).out).toBe('No suppressions\n')
    expect((await suppression('list')).out).toContain('ada@example.com')
    expect((await suppression('list', '--json')).json().suppressions).toHaveLength(1)
    expect((await suppression('remove', 'ada@example.com')).code).toBe(0)
    expect(await suppression('remove', 'ada@example.com')).toMatchObject({
      code: 1,
      err: `ada@example.com is not suppressed for ${tenantId}\n`,
    })
    expect((await suppression('show', 'ada@example.com')).code).toBe(1)
  })

  it('imports a file, says what it refused, and exports what there is', async () => {
    const file = join(dir, 'bounces.csv')
    writeFileSync(file, 'status,reason,email,created\n5.1.1,no,ada@example.com,\n5.1.1,no,ada,\n')
    const imported = await suppression('import', file, '--format', 'sendgrid')
    expect(imported).toMatchObject({
      code: 0,
      out: 'Added 1, known before 0, refused 1.\nline 3: the address has no @\n',
    })
    expect((await suppression('import', file, '--format', 'sendgrid', '--json')).json()).toEqual({
      ...{ added: 0, known: 1, refused_count: 1 },
      refused: [{ line: 3, message: 'the address has no @' }],
    })
    const { out } = await suppression('export')
    expect(out.split('\r\n')[1]).toMatch(/^ada@example.com,bounced,.*operator.*,no,20/)
    const back = join(dir, 'back.csv')
    writeFileSync(back, out)
    await suppression('remove', 'ada@example.com')
    expect((await suppression('import', back, '--json')).json()).toMatchObject({ added: 1 })
  })

  it('refuses what cannot be: an unknown tenant, no address, no such file', async () => {
    expect(await run('suppression', 'list', '--tenant', 'tn_x')).toMatchObject({
      code: 1,
      err: 'There is no tenant tn_x\n',
    })
    expect(await suppression('add', 'ada')).toMatchObject({ code: 1, err: 'email has no @\n' })
    expect((await suppression('add', 'ada@example.com', '--expires', 'soon')).code).toBe(2)
    expect((await suppression('import', join(dir, 'none.csv'))).err).toContain('ENOENT')
    expect((await suppression('import', 'x', '--format', 'other')).code).toBe(2)
  })
})

describe('postrider key create', () => {
  it('takes networks, one or several, and refuses what is none', async () => {
    const made = await run(
      ...['key', 'create', tenantId, '--network', '203.0.113.0/24'],
      ...['--network', '2001:db8::/32', '--json'],
    )
    expect(made.code).toBe(0)
    const { keys } = (await run('key', 'list', tenantId, '--json')).json()
    expect(keys[0].networks).toEqual(['203.0.113.0/24', '2001:db8::/32'])
    expect(await run('key', 'create', tenantId, '--network', 'here')).toMatchObject({
      code: 1,
      err: expect.stringContaining('networks/0 must be a network'),
    })
  })
})
