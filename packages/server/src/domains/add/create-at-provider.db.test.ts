/** What becomes of a creation whose first answer was lost. */
import { SPARKPOST } from '@postrider/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createDomainWorld, type DomainWorld } from '../../../test/domains.ts'

let world: DomainWorld
beforeAll(async () => {
  world = await createDomainWorld()
})
afterAll(() => world.close())
beforeEach(() => world.clear())

const NAME = 'mail.example.com'

async function addWithoutAnswer(isCarriedOut: boolean): Promise<void> {
  await world.configureRelay('sparkpost')
  world.sparkpost.setScript(() => ({ ending: 'rst', isCarriedOut }))
  const { status } = await world.call('addDomain', { body: { domain: NAME } })
  expect(status).toBe(422)
  world.sparkpost.setScript(undefined)
}

describe('a domain whose provider did not answer', () => {
  it('stays while the provider cannot be reached', async () => {
    await addWithoutAnswer(true)
    const { mailer_id } = await world.get(NAME)
    await world.db.query(`update relays_account set api_base = 'http://127.0.0.1:1'`)
    await world.workAll()
    expect(await world.get(NAME)).toMatchObject({ state: 'creating', mailer_id })
    const asked = await world.call('verifyDomain', { domain: NAME })
    expect(asked).toMatchObject({ status: 422, body: { code: 'relay_unreachable' } })
    await world.configureRelay('sparkpost')
    await world.workAll()
    expect(await world.get(NAME)).toMatchObject({ state: 'pending', mailer_id })
  })

  it('stays when the process died in the middle', async () => {
    await addWithoutAnswer(true)
    await world.db.query('update domains_domain set tries = 0')
    await world.db.query(`update relays_account set api_base = 'http://127.0.0.1:1'`)
    await world.workAll()
    expect(await world.get(NAME)).toMatchObject({ state: 'creating' })
  })

  it('stays while the provider rejects the key, until there is a valid key', async () => {
    await addWithoutAnswer(true)
    world.sparkpost.setScript(() => SPARKPOST.unauthorized)
    await world.workAll()
    expect(await world.get(NAME)).toMatchObject({ state: 'creating' })
    world.sparkpost.setScript(undefined)
    await world.workAll()
    expect(await world.get(NAME)).toMatchObject({ state: 'pending' })
  })

  it('is deleted when the provider refuses it for good', async () => {
    await addWithoutAnswer(false)
    world.sparkpost.domains.addForeign(NAME)
    await world.workAll()
    expect(await world.call('getDomain', { domain: NAME })).toMatchObject({ status: 404 })
  })
})

it('deletes a domain that the provider was never asked for', async () => {
  await world.configureRelay('sparkpost')
  await world.db.query(`update relays_account set api_base = 'http://127.0.0.1:1'`)
  expect(await world.call('addDomain', { body: { domain: NAME } })).toMatchObject({ status: 422 })
  expect(await world.call('getDomain', { domain: NAME })).toMatchObject({ status: 404 })
})
