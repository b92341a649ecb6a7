/**
 * A process without free file descriptors: takes all of them, tries what goes out, frees them and tries
 * again. Prints what came of it. Its argument is a port on 127.0.0.1 where something listens.
 */
import { closeSync, openSync } from 'node:fs'
import { createDnsResolver } from '@postrider/runtime/dns'
import { createLogger } from '../log.ts'
import { createMetrics } from '../metrics.ts'
import { createDescriptors } from '../process/descriptors.ts'
import { createEgress, EgressError } from './index.ts'

const port = Number(process.argv[2])
const metrics = createMetrics()
let nowMs = 0
const monotonicMs = () => nowMs
const descriptors = createDescriptors({
  log: createLogger({ level: 'silent' }),
  metrics,
  monotonicMs,
})
const dnsServers = [`127.0.0.1:${port}`]
const egress = createEgress({ allowNetworks: ['127.0.0.0/8'], dnsServers, descriptors })
const dns = createDnsResolver({ servers: dnsServers, descriptors })

async function outcomeOf(work: () => Promise<unknown>): Promise<string> {
  try {
    await work()
    return 'done'
  } catch (error) {
    return error instanceof EgressError ? error.code : String(error)
  }
}

async function tryAll() {
  const target = { port, timeoutMs: 5_000 }
  return {
    connect: await outcomeOf(async () =>
      (await egress.connect({ ...target, host: '127.0.0.1' })).destroy(),
    ),
    byName: await outcomeOf(() => egress.connect({ ...target, host: 'mail.example.com' })),
    request: await outcomeOf(() =>
      egress.request({
        poolKey: 'x',
        url: `http://127.0.0.1:${port}/`,
        method: 'GET',
        headers: {},
        timeoutMs: 5_000,
      }),
    ),
    resolve: await outcomeOf(() => egress.resolve({ host: '127.0.0.1', timeoutMs: 5_000 })),
    dns: await dns.txt('example.com'),
    areOut: descriptors.areOut(),
  }
}

const taken: number[] = []
try {
  for (;;) taken.push(openSync('/dev/null', 'r'))
} catch {
  // None is left.
}
const without = await tryAll()
for (const descriptor of taken) closeSync(descriptor)
const areOutBriefly = descriptors.areOut()
nowMs = 5_000
const areOutLater = descriptors.areOut()
const connect = await outcomeOf(async () =>
  (await egress.connect({ host: '127.0.0.1', port, timeoutMs: 5_000 })).destroy(),
)
const text = await metrics.registry.metrics()
const count = Number(/descriptors_exhausted_total (\d+)/.exec(text)?.[1])
process.stdout.write(JSON.stringify({ without, areOutBriefly, areOutLater, connect, count }))
await egress.close()
dns.close()
