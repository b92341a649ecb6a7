/** Sending domains as mailers: what domains and relays do to them. */
import { listMailersAnswer, type MailerState } from '@postrider/contract'
import { Value } from 'typebox/value'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/database.ts'
import { emptyTables } from '../../test/empty-tables.ts'
import { addDomainMailer, addMailer } from '../../test/sending.ts'
import { createClock } from '../platform/clock.ts'
import type { Tx } from '../platform/db/index.ts'
import { deleteDomainMailer, findMailers, noteRelayChanged, setDomainVerified } from './index.ts'
import { listMailers } from './list-mailers.ts'
import { changeState } from './state/change-state.ts'
import type { MailerKey } from './state/state-store.ts'
import { getMailer } from './store.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())
beforeEach(() => emptyTables(database.db, 'relays_account', 'mailers_mailer'))

const run = <T>(work: (tx: Tx) => Promise<T>) => database.db.transaction(work)
const get = ({ tenantId, mailerId }: MailerKey) => getMailer(database.db, tenantId, mailerId)

async function deactivate(key: MailerKey): Promise<void> {
  const mailer = await get(key)
  const { configVersion = 0 } = mailer ?? {}
  const cause = { kind: 'rejected', reason: 'provider_auth_error', evidence: '401' } as const
  await run((tx) => changeState(tx, createClock(), key, { ...cause, configVersion }))
}

it('[6.3] reports the deactivation of a domain to the tenant, whatever the filters', async () => {
  const key = await addDomainMailer(database.db)
  const changed = await run((tx) =>
    changeState(tx, createClock(), key, {
      kind: 'rejected',
      reason: 'provider_auth_error',
      evidence: 'Unauthorized.',
      configVersion: 1,
    }),
  )
  expect(changed?.event?.owner).toBeUndefined()
  expect(changed?.event?.details).toEqual({
    mailer_id: key.mailerId,
    config_type: 'domain',
    failed_reason: 'provider_auth_error',
    provider_error: 'Unauthorized.',
  })
})

it('activates deactivated domains of a changed account, for that tenant and relay only', async () => {
  const { db } = database
  const [own, other, disabled, elsewhere, theirs] = [
    await addDomainMailer(db, { domain: 'a.example.com' }),
    await addDomainMailer(db, { domain: 'b.example.com' }),
    await addDomainMailer(db, { domain: 'c.example.com' }),
    await addDomainMailer(db, { domain: 'd.example.com', relay: 'sendgrid' }),
    await addDomainMailer(db, { domain: 'a.example.com', tenantId: 'tn_b' }),
  ]
  for (const key of [own, elsewhere, theirs]) await deactivate(key)
  await run((tx) => changeState(tx, createClock(), disabled, { kind: 'switched', to: 'disabled' }))
  const woken = await run((tx) => noteRelayChanged(tx, { tenantId: 'tn_a', kind: 'simulator' }))
  expect(woken.map(({ mailerId }) => mailerId).sort()).toEqual(
    [own, other, disabled].map(({ mailerId }) => mailerId).sort(),
  )
  const stateOf = async (key: MailerKey): Promise<[MailerState, number, string | undefined]> => {
    const mailer = await get(key)
    if (mailer === undefined) throw new Error('gone')
    return [mailer.state, mailer.configVersion, mailer.stateEvidence]
  }
  expect(await stateOf(own)).toEqual(['active', 2, undefined])
  expect(await stateOf(other)).toEqual(['active', 2, undefined])
  expect(await stateOf(disabled)).toEqual(['disabled', 2, undefined])
  expect(await stateOf(elsewhere)).toEqual(['deactivated', 1, '401'])
  expect(await stateOf(theirs)).toEqual(['deactivated', 1, '401'])
})

it('deactivates nothing for a rejection under an earlier account', async () => {
  const key = await addDomainMailer(database.db)
  await run((tx) => noteRelayChanged(tx, { tenantId: 'tn_a', kind: 'simulator' }))
  const changed = await run((tx) =>
    changeState(tx, createClock(), key, {
      kind: 'rejected',
      reason: 'provider_auth_error',
      evidence: '',
      configVersion: 1,
    }),
  )
  expect(changed).toMatchObject({ isChanged: false, mailer: { state: 'active' } })
})

it('deletes a domain once, and only for its tenant', async () => {
  const key = await addDomainMailer(database.db)
  const foreign = { ...key, tenantId: 'tn_b' }
  expect(await run((tx) => deleteDomainMailer(tx, foreign))).toBe(false)
  expect(await run((tx) => deleteDomainMailer(tx, key))).toBe(true)
  expect(await run((tx) => deleteDomainMailer(tx, key))).toBe(false)
})

it('lists domains among the other mailers, newest first, in the documented shape', async () => {
  const { db } = database
  const server = await addMailer(db)
  const domain = await addDomainMailer(db, { domain: 'mail.example.com', isVerified: false })
  const { mailers } = await listMailers(
    { db, readMailboxHealth: async () => new Map() },
    'tn_a',
    {},
  )
  expect(mailers.map(({ mailer_id }) => mailer_id)).toEqual([domain.mailerId, server.mailerId])
  expect(mailers[0]).toMatchObject({
    name: 'mail.example.com',
    email: '',
    config_type: 'domain',
    connection_type: 'relay',
    config: { relay: 'simulator', domain: 'mail.example.com', verified: false },
    limits: {},
    effective_limits: { connections: 20 },
    uncertain: 'at_least_once',
    state: 'active',
    last_errors: [],
  })
  expect(Value.Check(listMailersAnswer, { success: true, message: 'Mailers', mailers })).toBe(true)
})

it('finds a verified domain by its id and by every address of exactly its domain', async () => {
  const { db } = database
  const key = await addDomainMailer(db, { isVerified: false })
  const { mailerId, tenantId } = key
  const asked = [
    { tenantId, from: 'Anybody+x@example.com' },
    { tenantId, mailerId, from: 'a@example.com' },
    { tenantId, mailerId },
  ]
  const unverified = { problem: 'unverified' }
  expect(await findMailers(db, asked)).toEqual([unverified, unverified, unverified])
  await run((tx) => setDomainVerified(tx, key, true))
  const found = { mailerId, state: 'active', domain: { name: 'example.com', isVerified: true } }
  expect(await findMailers(db, asked)).toEqual([found, found, found])
  const others = [
    { tenantId, from: 'a@sub.example.com' },
    { tenantId, from: 'a@ample.com' },
    { tenantId: 'tn_b', from: 'a@example.com' },
    { tenantId: 'tn_b', mailerId },
  ]
  expect(await findMailers(db, others)).toEqual(others.map(() => undefined))
  expect(await findMailers(db, [{ tenantId, mailerId, from: 'a@sub.example.com' }])).toEqual([
    { problem: 'other-domain' },
  ])
})

it('[3.1] prefers the own mailer of an address to its domain, whatever its state', async () => {
  const { db } = database
  await addDomainMailer(db)
  const own = await addMailer(db, { email: 'News@example.com' })
  await db.query(`update mailers_mailer set state = 'disabled' where mailer_id = $1`, [
    own.mailerId,
  ])
  const { tenantId } = own
  const found = await findMailers(db, [
    { tenantId, from: 'news@example.com' },
    { tenantId, from: 'other@example.com' },
  ])
  expect(found).toMatchObject([
    { mailerId: own.mailerId, state: 'disabled' },
    { domain: { name: 'example.com' } },
  ])
})
