/** How this machine greets mail servers. */
import { hostname, networkInterfaces } from 'node:os'
import { ehloNameOf } from './mailers/index.ts'

export function thisHost(): string {
  const addresses = Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .filter((one) => !one.internal)
    .map((one) => one.address)
  return ehloNameOf({ hostname: hostname(), addresses })
}
