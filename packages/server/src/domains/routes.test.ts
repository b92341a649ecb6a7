/** The operations on sending domains, one after the other, with real providers' fakes and name servers. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createDomainWorld, type DomainWorld } from '../../test/domains.ts'

let world: DomainWorld
beforeAll(async () => {
  world = await createDomainWorld()
})
afterAll(() => world.close())
beforeEach(() => world.clear())

describe('addDomain: 201', () => {
  it('creates it at the provider and tells what to publish', async () => {
    await world.configureRelay('sparkpost')
    const domain = await world.add('mail.example.com')
    expect(domain).toMatchObject({ state: 'pending', verified: false })
    world.publish(domain)
    const verified = await world.verify('mail.example.com')
    expect(verified).toMatchObject({ state: 'verified', verified: true })
    expect(await world.events()).toHaveLength(1)
  })
})
