/**
 * Callbacks of a relay provider and the processes that take them, killed at each place between the
 * request and its effect. The provider comes again until it has been answered 200; from then on it is
 * the service that must not lose it. Each report counts once, whichever process is killed.
 */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createDnsServer, type DnsServer, findFreePort } from '@postrider/testkit'
import { createPostgresServer, type PostgresServer } from '@postrider/testkit/postgres-server'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { createRelayScene, type RelayScene } from '../relay-scene.ts'
import { createWorld, type World } from '../world.ts'

const TEST_MS = 90_000

let directory: string
let postgres: PostgresServer
let dns: DnsServer
let world: World
let port: string
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'postrider-callbacks-'))
  postgres = createPostgresServer({ directory, port: await findFreePort(), isPrepared: true })
  dns = await createDnsServer()
  port = String(await findFreePort())
  world = createWorld({
    ROLES: 'api,sender,dispatcher,janitor',
    DATABASE_URL: postgres.url,
    SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    DNS_SERVERS: dns.address,
    // Of whichever tracker is there.
    PUBLIC_URL: `http://127.0.0.1:${port}`,
  })
  await postgres.start()
  await world.start()
})
afterEach(() => world.closePeers())
afterAll(async () => {
  await world.destroy()
  await dns.close()
  await postgres.stop()
  rmSync(directory, { recursive: true, force: true })
})

const tracker = (failpoint?: string, o: { readonly port?: string } = {}) =>
  world.startBeside({
    ROLES: 'tracker',
    PORT: o.port ?? port,
    ...(failpoint === undefined ? {} : { FAILPOINTS: `${failpoint}=kill` }),
  })

/** Two mails that the provider has taken; what became of them it keeps to itself for now. */
async function sendTwo(): Promise<RelayScene & { readonly refId: string }> {
  const scene = await createRelayScene({ world, dns, kind: 'sparkpost' })
  scene.provider.setCallbacks('manual')
  scene.provider.setFates({ bob: ['taken up', 'delivered', 'bounced later'] })
  const refId = await scene.send(['ada', 'bob'])
  await scene.provider.waitForMails(2)
  return { ...scene, refId }
}

/** All that there is to tell, and nothing after it: another report goes through the same. */
async function expectEachOnce({
  provider,
  refId,
  told,
  statusesOf,
}: Awaited<ReturnType<typeof sendTwo>>) {
  const each = ['MAIL_BOUNCE bob', 'MAIL_DELIVERED ada', 'MAIL_DELIVERED bob']
  expect((await told(refId, 3)).toSorted()).toEqual(each)
  await provider.callBack({ events: provider.eventsOf('ada', ['complained']) })
  expect((await told(refId, 4)).toSorted()).toEqual([...each, 'MAIL_SPAM ada'])
  expect(await statusesOf(refId)).toEqual({ ada: 'delivered', bob: 'bounced' })
}

it('[C1] a callback counts once when a process is killed after storing it, before its 200', {
  timeout: TEST_MS,
}, async () => {
  const dying = await tracker('callback.after_store')
  const scene = await sendTwo()
  const posted = scene.provider.callBack()
  expect(await dying.process.exited).toMatchObject({ signal: 'SIGKILL' })
  await tracker()
  const [batch] = await posted
  expect(batch?.attempts[0]).toMatchObject({ status: undefined })
  expect(batch?.attempts.at(-1)).toEqual({ status: 200 })
  await expectEachOnce(scene)
})

it('[C2] a callback is applied by the next process when one is killed after its 200', {
  timeout: TEST_MS,
}, async () => {
  const dying = await tracker('callback.before_apply')
  const scene = await sendTwo()
  const [batch] = await scene.provider.callBack()
  expect(batch?.attempts).toEqual([{ status: 200 }])
  expect(await dying.process.exited).toMatchObject({ signal: 'SIGKILL' })
  expect(await scene.statusesOf(scene.refId)).toEqual({ ada: 'sent', bob: 'sent' })
  await tracker()
  await expectEachOnce(scene)
})

it('[C3] a callback is applied once when a process is killed before the commit', {
  timeout: TEST_MS,
}, async () => {
  const dying = await tracker('callback.before_commit')
  const scene = await sendTwo()
  await scene.provider.callBack()
  expect(await dying.process.exited).toMatchObject({ signal: 'SIGKILL' })
  expect(await scene.statusesOf(scene.refId)).toEqual({ ada: 'sent', bob: 'sent' })
  await tracker()
  await expectEachOnce(scene)
})

it('[C4] events are delivered when a process is killed after the commit, before the wake-up', {
  timeout: TEST_MS,
}, async () => {
  const dying = await tracker('callback.after_commit')
  const scene = await sendTwo()
  await scene.provider.callBack()
  expect(await dying.process.exited).toMatchObject({ signal: 'SIGKILL' })
  expect((await scene.told(scene.refId, 3)).length).toBe(3)
  await tracker()
  await expectEachOnce(scene)
})

it('[C5] each report counts once when two processes receive and apply repeated callbacks', {
  timeout: TEST_MS,
}, async () => {
  const one = await tracker()
  const other = await tracker(undefined, { port: '0' })
  const scene = await sendTwo()
  const events = [
    ...scene.provider.eventsOf('ada', ['delivered']),
    ...scene.provider.eventsOf('bob', ['delivered', 'bounced later']),
  ]
  const shape = { events, batchMax: 1, repeats: 3, parallel: 3 }
  const target = scene.callbackUrl.replace(one.origin, other.origin)
  await Promise.all([
    scene.provider.callBack(shape),
    scene.provider.callBack({ ...shape, target, arrange: (all) => [...all].reverse() }),
  ])
  await expectEachOnce(scene)
})
