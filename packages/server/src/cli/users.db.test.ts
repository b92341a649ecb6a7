/** [contract 7.1] `postrider user`: links for people, without the API. */
import { hostname } from 'node:os'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/database.ts'
import { runCli } from '../cli.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(async () => {
  await database.close()
})

async function run(...args: readonly string[]) {
  let [out, err] = ['', '']
  const code = await runCli(args, {
    env: {
      POSTRIDER_DATABASE_URL: database.url,
      POSTRIDER_PUBLIC_URL: 'https://mail.example.com/',
    },
    out: (text) => {
      out += text
    },
    err: (text) => {
      err += text
    },
  })
  return { code, out, err, json: () => JSON.parse(out) }
}

it('user invite prints a link for the first user, and then for each that is named', async () => {
  const setup = await run('user', 'invite')
  expect(setup.out).toMatch(/ {2}https:\/\/mail\.example\.com\/app\/setup#\w{43}\n/)
  const { tenant_id } = (await run('tenant', 'create', 'Acme', '--json')).json()
  const invite = ['user', 'invite', 'Ada@example.com']
  expect(await run(...invite)).toMatchObject({ code: 1, err: expect.stringContaining('--role') })
  const other = (await run('tenant', 'create', 'Other', '--json')).json().tenant_id
  const alone = await run(...invite, '--role', 'owner')
  expect(alone).toMatchObject({ code: 1, err: expect.stringContaining('name one with --tenant') })
  await run('tenant', 'delete', other, '--confirm', 'Other')
  const gone = await run(...invite, '--role', 'owner', '--tenant', other)
  expect(gone).toMatchObject({ code: 1, err: `There is no tenant ${other}\n` })
  const options = ['--role', 'owner', '--tenant', tenant_id, '--no-content', '--json']
  const made = (await run(...invite, ...options)).json()
  expect(made.invitation_url).toMatch(/^https:\/\/mail\.example\.com\/app\/invitation#\w{43}$/)
  expect((await run('user', 'list', '--json')).json().users).toMatchObject([
    { email: 'ada@example.com', role: 'owner', tenants: [tenant_id], content: false },
  ])
  const again = (await run('user', 'invite', 'ada@example.com', '--json')).json()
  expect(again.user_id).toBe(made.user_id)
  expect(again.invitation_url).not.toBe(made.invitation_url)
  const { rows } = await database.db.query(
    'select from people_invitation where user_id is not null',
  )
  expect(rows).toHaveLength(1)
  expect(await run('user', 'invite')).toMatchObject({
    code: 1,
    err: expect.stringContaining('There is a user already'),
  })
})

it('user delete takes an id or an address, and names one that is not there', async () => {
  await run('user', 'invite', 'bob@example.com', '--role', 'operator')
  expect((await run('user', 'list')).out).toMatch(/bob@example\.com +operator +invited/)
  expect(await run('user', 'delete', 'BOB@example.com')).toMatchObject({ code: 0 })
  for (const who of ['bob@example.com', 'user_x'])
    expect(await run('user', 'delete', who)).toMatchObject({
      code: 1,
      err: `There is no user ${who}\n`,
    })
})

it('commands that change something are in the audit log, as the operator sees it', async () => {
  await run('user', 'invite', 'carol@example.com', '--role', 'operator')
  await run('user', 'invite', 'carol@example.com')
  const { tenant_id, key_id } = (await run('tenant', 'create', 'Audited', '--json')).json()
  await run('tenant', 'suspend', tenant_id)
  await run('tenant', 'quota', tenant_id, '--queued-max', '5')
  await run('key', 'create', tenant_id)
  await run('key', 'revoke', key_id)
  await run('key', 'revoke', 'key_x')
  await run('tenant', 'delete', tenant_id, '--confirm', 'Audited')
  await run('user', 'delete', 'carol@example.com')
  await run('tenant', 'list')
  const { rows: entries } = await database.db.query<Record<string, unknown>>(
    `select tenant_id, actor, operation, target, status, from_address, changes
       from tenants_audit_entry order by entry_id desc limit 10`,
  )
  const user = expect.stringMatching(/^user_/)
  expect(
    entries.toReversed().map(({ operation, status, target }) => [operation, target, status]),
  ).toEqual([
    ['createUser', user, 201],
    ['user invite', user, 200],
    ['createTenant', tenant_id, 201],
    ['updateTenant', tenant_id, 200],
    ['updateTenant', tenant_id, 200],
    ['createApiKey', expect.stringMatching(`^${tenant_id}/key_`), 201],
    ['revokeApiKey', key_id, 200],
    ['revokeApiKey', 'key_x', 404],
    ['deleteTenant', tenant_id, 200],
    ['deleteUser', user, 200],
  ])
  expect(entries.toReversed()[4]?.changes).toEqual([
    { path: '/quotas/queued_max', before: null, after: 5 },
  ])
  for (const entry of entries)
    expect(entry).toMatchObject({ actor: 'cli', tenant_id: '', from_address: hostname() })
})
