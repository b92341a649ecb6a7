/** A service that runs with the turn meter, and a name server that it asks. */
import { createDnsServer, findFreePort } from '@postrider/testkit'
import { createWorld } from '../world.ts'
import type { DoorDeps } from './door.ts'
import { TURN_METER } from './drive-doors.ts'

export async function openService(): Promise<{
  readonly deps: DoorDeps
  readonly close: () => Promise<void>
}> {
  const [port, dns] = await Promise.all([findFreePort(), createDnsServer()])
  const env = {
    PORT: String(port),
    PUBLIC_URL: `http://127.0.0.1:${port}`,
    DNS_SERVERS: dns.address,
    INBOUND_HOST: 'mx.postrider.test',
    // Otherwise most of the time would go into waiting for the next request.
    WEBHOOK_BATCH_LINGER: '1ms',
    // So that X-Forwarded-For is read.
    TRUSTED_PROXIES: '127.0.0.0/8',
  }
  const world = createWorld(env, TURN_METER)
  await world.start()
  return {
    deps: { world, dns },
    async close() {
      await world.destroy()
      await dns.close()
    },
  }
}
