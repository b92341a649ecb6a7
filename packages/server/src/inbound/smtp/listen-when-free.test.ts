import { createServer, type Server } from 'node:net'
import { findFreePort } from '@postrider/testkit'
import { afterEach, describe, expect, it } from 'vitest'
import { createLogger } from '../../platform/log.ts'
import { listenWhenFree } from './listen-when-free.ts'
import type { InboundListener } from './listener.ts'

const host = '127.0.0.1'
const open = new Set<Server>()
afterEach(async () => {
  for (const server of open) await close(server)
})

function listen(server: Server, port: number, address = host): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, address, () => {
      open.add(server)
      resolve()
    })
  })
}

function close(server: Server): Promise<void> {
  open.delete(server)
  return new Promise((resolve) => server.close(() => resolve()))
}

function listenerOn(port: number, address = host): InboundListener {
  const server = createServer()
  return {
    name: 'inbound listener',
    isListening: () => server.listening,
    reloadCertificate: async () => 0,
    start: () => listen(server, port, address),
    stop: () => close(server),
    address: () => ({ host, port }),
  }
}

const log = createLogger({ level: 'silent' })

describe('the listener on the default port', () => {
  it('starts without a port in use, and listens once the port is free', async () => {
    const port = await findFreePort()
    const occupant = createServer()
    await listen(occupant, port)
    const listener = listenWhenFree(listenerOn(port), { port, log })
    await listener.start()
    expect(listener.isListening()).toBe(false)
    expect(await listener.tryAgain()).toBe(0)
    await close(occupant)
    expect(await listener.tryAgain()).toBe(1)
    expect(listener.isListening()).toBe(true)
    await listener.stop()
    expect(listener.isListening()).toBe(false)
  })

  it('does not start where listening fails for another reason', async () => {
    const port = await findFreePort()
    const listener = listenWhenFree(listenerOn(port, '192.0.2.1'), { port, log })
    await expect(listener.start()).rejects.toThrow('EADDRNOTAVAIL')
  })
})
