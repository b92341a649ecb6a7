import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { createConnector } from './connector.ts'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

it('judges the address of the established connection, not only the intended one', async () => {
  const server = createServer()
  const connected = once(server, 'connection')
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanups.push(async () => server.close())
  const judged: string[] = []
  const { open } = createConnector({
    policy: { isAllowed: (address) => judged.push(address) === 1 },
    lookup: async () => [{ address: '127.0.0.1', family: 4 }],
  })
  const { port } = server.address() as AddressInfo
  await expect(open({ host: 'a.example.test', port, timeoutMs: 60_000 })).rejects.toMatchObject({
    code: 'address_refused',
  })
  expect(judged).toEqual(['127.0.0.1', '127.0.0.1'])
  const [socket] = (await connected) as [Socket]
  socket.on('error', () => undefined).resume()
  if (!socket.closed) await once(socket, 'close')
})
