import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/database.ts'
import { findMailers } from './index.ts'
import { insertMailer } from './store.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())

async function insert(tenantId: string, mailerId: string, email: string, state = 'active') {
  await insertMailer(database.db, {
    tenantId,
    mailerId,
    name: 'n',
    email,
    configType: 'smtp',
    connectionType: 'basic',
    config: { host: 'mail.example.test', port: 25, secure: 'None', tlsVerify: true },
    uncertain: 'at_least_once',
    limits: {},
    hostEverWorked: false,
  })
  await database.db.query('update mailers_mailer set state = $1 where mailer_id = $2', [
    state,
    mailerId,
  ])
}

describe('findMailers', () => {
  it('answers each question in order, by id or by address without case', async () => {
    await insert('tn_1', 'smtp_1', 'News@example.com')
    await insert('tn_2', 'smtp_2', 'other@example.com', 'disabled')
    const found = await findMailers(database.db, [
      { tenantId: 'tn_2', mailerId: 'smtp_2' },
      { tenantId: 'tn_1', from: 'nEWS@example.com' },
      { tenantId: 'tn_1', mailerId: 'smtp_2' },
      { tenantId: 'tn_2', from: 'news@example.com' },
      { tenantId: 'tn_1', from: 'nobody@example.com' },
      { tenantId: 'tn_1', mailerId: 'smtp_1' },
    ])
    expect(found).toEqual([
      { mailerId: 'smtp_2', state: 'disabled' },
      { mailerId: 'smtp_1', state: 'active' },
      undefined,
      undefined,
      undefined,
      { mailerId: 'smtp_1', state: 'active' },
    ])
  })

  it('takes the oldest active mailer of an address, else the oldest', async () => {
    await insert('tn_3', 'smtp_31', 'a@example.com', 'deactivated')
    await insert('tn_3', 'smtp_32', 'a@example.com')
    await insert('tn_3', 'smtp_33', 'a@example.com')
    const find = () => findMailers(database.db, [{ tenantId: 'tn_3', from: 'a@example.com' }])
    expect(await find()).toEqual([{ mailerId: 'smtp_32', state: 'active' }])
    await database.db.query(
      "update mailers_mailer set state = 'deactivated' where tenant_id = 'tn_3'",
    )
    expect(await find()).toEqual([{ mailerId: 'smtp_31', state: 'deactivated' }])
  })

  it('makes no query without a question', async () => {
    expect(await findMailers(database.db, [])).toEqual([])
  })
})
