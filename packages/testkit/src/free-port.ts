/**
 * A TCP port that was free a moment ago, for a process that must be told its port before it starts,
 * or takes the same one again after it was killed. Code that can listen on port 0 should do that.
 *
 * Below the range from which systems take the ports of outgoing connections and of port 0: one from
 * there is soon taken by somebody's connection. At random, so that test workers rarely meet.
 */
import { createServer } from 'node:net'

const FIRST = 20_000
const COUNT = 12_000
const TRIES_MAX = 50

export async function findFreePort(host = '127.0.0.1'): Promise<number> {
  for (let i = 0; i < TRIES_MAX; i++) {
    const port = FIRST + Math.floor(Math.random() * COUNT)
    if (await isFree(port, host)) return port
  }
  throw new Error(`no free port found between ${FIRST} and ${FIRST + COUNT}`)
}

function isFree(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, host, () => server.close(() => resolve(true)))
  })
}
