/** Users, members, sessions, invitations and the audit log: found by index, however many there are. */
import { casesOf } from '@postrider/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  deleteInvitationsOf,
  findInvitation,
  insertInvitation,
  takeInvitation,
} from '../src/people/invitations/invitation-store.ts'
import {
  deleteSessionByHash,
  deleteSessionRow,
  deleteSessionsOf,
  deleteSurplusSessions,
  findSession,
  findSessionsByHash,
  insertSession,
  listSessionRows,
  touchSession,
} from '../src/people/sessions/session-store.ts'
import { findUserId, getUser, pageOfMembers, pageOfUsers } from '../src/people/users/list-people.ts'
import { removeMembers } from '../src/people/users/removal-store.ts'
import {
  countMembers,
  deleteMembership,
  deleteUserRow,
  findUserByOidc,
  lockOwners,
  lockUser,
  putMembership,
  setPassword,
} from '../src/people/users/user-store.ts'
import type { Db, Tx } from '../src/platform/db/index.ts'
import { deleteOldAuditEntries } from '../src/tenants/audit-store.ts'
import { pageOfAllAudit, pageOfAudit } from '../src/tenants/list-audit.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'
import { mostRows } from './explain.ts'
import { explained } from './webhook-record.ts'

const USERS = casesOf(15_000, 100_000)
const AUDIT = casesOf(40_000, 300_000)
const idOf = (n: number) => `user_${String(n).padStart(26, '0')}`
const [userId, other] = [idOf(777), idOf(778)]
const hashOf = (n: number) => Buffer.from(`hash ${n}`)

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
  const { db } = database
  const numbers = `generate_series(1, ${USERS}) n`
  const id = `'user_' || lpad(n::text, 26, '0')`
  for (const text of [
    `insert into tenants_tenant (tenant_id, name) select 'tn_' || n, 't' from generate_series(1, 1000) n`,
    `insert into people_user (user_id, email, name, oidc_issuer, oidc_subject, activated_at)
     select ${id}, 'u' || n || '@example.com', 'U', 'https://id.example.com', n::text, now()
       from ${numbers}`,
    // One tenant has half of them, the others share the rest; each is in two.
    `insert into people_member (tenant_id, user_id, role, content)
     select case when n % 2 = 0 then 'tn_1' else 'tn_' || 2 + n % 900 end, ${id},
            case when n % 10000 = 0 then 'owner' else 'viewer' end, false from ${numbers}`,
    `insert into people_member (tenant_id, user_id, role, content)
     select 'tn_' || 901 + n % 99, ${id}, 'viewer', false from ${numbers}`,
    `insert into people_session (session_id, user_id, token_hash, ip, user_agent)
     select 'se_' || n || '_' || k, ${id}, ('hash ' || n * 3 + k)::bytea, '127.0.0.1', 'x'
       from ${numbers}, generate_series(0, 2) k`,
    `insert into people_invitation (token_hash, user_id, expires_at)
     select ('hash ' || n)::bytea, ${id}, now() + interval '7 days' from ${numbers}`,
    `insert into tenants_audit_entry
       (tenant_id, entry_id, actor, operation, target, from_address, request_id, at)
     select case when n % 2 = 0 then 'tn_1' else 'tn_' || n % 900 end, lpad(n::text, 26, '0'),
            'operator', 'updateTenant', null, '127.0.0.1', 'r', now() - interval '1 day'
       from generate_series(1, ${AUDIT}) n`,
  ])
    await db.query(text)
}, 300_000)
afterAll(() => database.close())

const page = { pageSize: 500 }
const UNFIT = { actor: 'cli', operation: 'createKey', target: 'key_1' }
/** What each reads at most. */
const reads: Readonly<Record<string, [number, (db: Db) => Promise<unknown>]>> = {
  'a page of users': [2_200, (db) => pageOfUsers({ db }, page)],
  'a user': [10, (db) => getUser({ db }, userId)],
  'a user by address': [10, (db) => findUserId({ db }, 'u777@example.com')],
  'a user by the OIDC provider': [
    10,
    (db) => findUserByOidc(db, { issuer: 'https://id.example.com', subject: '777' }),
  ],
  'a page of members': [2_200, (db) => pageOfMembers({ db }, 'tn_1', page)],
  'a page of members of a small tenant': [2_200, (db) => pageOfMembers({ db }, 'tn_7', page)],
  // Without statistics the places of all members are read from the index; a tenant may not have so many.
  'a count of members': [USERS / 2, (db) => countMembers(db, 'tn_1', 1_000)],
  'sessions by their cookies': [
    200,
    (db) =>
      findSessionsByHash(
        db,
        Array.from({ length: 64 }, (_, n) => hashOf(3_000 + n)),
      ),
  ],
  'a session': [10, (db) => findSession(db, 'se_777_0')],
  'sessions of a user': [10, (db) => listSessionRows(db, userId)],
  'an invitation': [10, (db) => findInvitation(db, hashOf(777))],
  'a page of the audit log of a tenant': [600, (db) => pageOfAudit({ db }, 'tn_1', page)],
  'a page of the audit log of a quiet tenant': [600, (db) => pageOfAudit({ db }, 'tn_999', page)],
  'a page of the audit log': [600, (db) => pageOfAllAudit({ db }, page)],
  'a page of the audit log with filters that nothing fits': [
    12_000,
    (db) => pageOfAllAudit({ db }, { ...page, ...UNFIT }),
  ],
  'a page of the audit log of a tenant with filters that nothing fits': [
    12_000,
    (db) => pageOfAudit({ db }, 'tn_1', { ...page, ...UNFIT }),
  ],
  'a page of the audit log of a time without entries': [
    10,
    (db) => pageOfAllAudit({ db }, { ...page, start: '2100-01-01' }),
  ],
}
/** Each in a transaction that is rolled back. */
const writes: Readonly<Record<string, (tx: Tx) => Promise<unknown>>> = {
  'a lock of a user': (tx) => lockUser(tx, userId),
  'a new role': (tx) =>
    putMembership(tx, userId, { tenantId: 'tn_1', role: 'viewer', content: true }),
  'the end of a membership': (tx) => deleteMembership(tx, { tenantId: 'tn_1', userId: other }),
  'a lock of the owners': (tx) => lockOwners(tx, 'tn_7'),
  'a new password': (tx) => setPassword(tx, userId, 'x'),
  'the removal of a user': (tx) => deleteUserRow(tx, userId),
  'the removal of members': (tx) => removeMembers(tx, 'tn_1', 100),
  'a login': (tx) =>
    insertSession(tx, {
      ...{ sessionId: 'se_new', userId, tokenHash: hashOf(-1), passwordHash: undefined },
      ...{ ip: '127.0.0.1', userAgent: 'x' },
    }),
  'a use of a session': (tx) => touchSession(tx, 'se_777_0'),
  'a logout': (tx) => deleteSessionByHash(tx, hashOf(2_331)),
  'the end of a session': (tx) => deleteSessionRow(tx, { sessionId: 'se_777_1', userId }),
  'the end of surplus sessions': (tx) => deleteSurplusSessions(tx, userId, 1),
  'the end of all sessions of a user': (tx) => deleteSessionsOf(tx, userId),
  'an invitation': (tx) => insertInvitation(tx, { tokenHash: hashOf(-1), userId, ttlMs: 1_000 }),
  'a use of an invitation': (tx) => takeInvitation(tx, hashOf(778)),
  'the end of invitations': (tx) => deleteInvitationsOf(tx, other),
  'the end of old audit entries': (tx) => deleteOldAuditEntries(tx, 365 * 86_400_000, 1_000),
}
const SCAN = /Seq Scan on (?:people|tenants)_/

it.each(['without statistics', 'with statistics'])(
  'are read by index, in bounded rows, %s',
  async (which) => {
    if (which === 'with statistics') await database.db.query('vacuum analyze')
    const seen = new Map<string, unknown>()
    for (const [name, [rowsMax, read]] of Object.entries(reads)) {
      const plans: string[] = []
      await read(explained(database.db, plans, 'explain (analyze, costs off)'))
      expect(plans.length).toBeGreaterThanOrEqual(1)
      for (const plan of plans)
        if (SCAN.test(plan) || mostRows(plan) > rowsMax) seen.set(name, [mostRows(plan), plan])
    }
    expect(Object.fromEntries(seen)).toEqual({})
  },
  120_000,
)

it('are changed by index', async () => {
  const undone = new Error('undone')
  const seen = new Map<string, string>()
  for (const [name, write] of Object.entries(writes)) {
    const plans: string[] = []
    const trial = explained(database.db, plans).transaction(async (tx) => {
      await write(tx)
      throw undone
    })
    await expect(trial).rejects.toBe(undone)
    expect(plans.length).toBeGreaterThanOrEqual(1)
    for (const plan of plans) if (SCAN.test(plan)) seen.set(name, plan)
  }
  expect(Object.fromEntries(seen)).toEqual({})
}, 120_000)

it('go on behind the place of a page', async () => {
  const plans: string[] = []
  const db = explained(database.db, plans, 'explain (analyze, costs off)')
  const first = await pageOfUsers({ db }, page)
  const members = await pageOfMembers({ db }, 'tn_1', page)
  await pageOfUsers({ db }, { ...page, pageToken: first.nextPageToken ?? '' })
  await pageOfMembers({ db }, 'tn_1', { ...page, pageToken: members.nextPageToken ?? '' })
  expect(plans).toHaveLength(4)
  for (const plan of plans) expect([plan, mostRows(plan) <= 2_200]).toEqual([plan, true])
})
