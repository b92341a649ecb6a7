/** Where a deactivation is told (docs/reference/mailers.md#deactivation). */
import { mailerConfigTypes } from '@postrider/contract'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts'
import { addMailer } from '../../../test/sending.ts'
import { createClock } from '../../platform/clock.ts'
import { changeState } from './change-state.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())

it.each(mailerConfigTypes.filter((type) => type !== 'domain'))(
  '[6.3] deactivates a mailer of type %s with an event for its owner',
  async (configType) => {
    const { db } = database
    const mailer = await addMailer(db, { configType })
    const changed = await db.transaction((tx) =>
      changeState(tx, createClock(), mailer, {
        kind: 'rejected',
        reason: 'provider_auth_error',
        evidence: '',
        configVersion: 1,
      }),
    )
    // A mailbox's own incoming webhook; else the tenant's, past its filters.
    const ofMailbox = configType.includes('imap')
    expect(changed?.event?.owner).toBe(ofMailbox ? mailer.mailerId : undefined)
    expect(changed?.event?.details).toEqual({
      mailer_id: mailer.mailerId,
      config_type: configType,
      failed_reason: 'provider_auth_error',
    })
  },
)

it('changes nothing of a deleted mailer', async () => {
  const { db } = database
  const key = { tenantId: 'tn_a', mailerId: 'smtp_gone' }
  const changed = await db.transaction((tx) =>
    changeState(tx, createClock(), key, { kind: 'authenticated' }),
  )
  expect(changed).toBeUndefined()
})
