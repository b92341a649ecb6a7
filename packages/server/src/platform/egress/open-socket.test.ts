import { connect, createServer, type Socket } from 'node:net'
import { Worker } from 'node:worker_threads'
import { afterEach, expect, it } from 'vitest'
import { openSocket } from './open-socket.ts'

const cleanups: (() => Promise<unknown> | unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

/** Listens, then blocks its thread for good: connections that find the backlog full hang in SYN. */
const DEAF = `
  const { parentPort, workerData } = require('node:worker_threads')
  const server = require('node:net').createServer()
  server.listen({ host: '127.0.0.2', port: workerData, backlog: 1 }, () => {
    parentPort.postMessage('listening')
    setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0))
  })`

async function deafServerAt(port: number): Promise<void> {
  const worker = new Worker(DEAF, { eval: true, workerData: port })
  cleanups.push(() => worker.terminate())
  await new Promise((resolve) => worker.once('message', resolve))
  const held: Socket[] = []
  cleanups.push(() => {
    for (const socket of held) socket.destroy()
  })
  for (let i = 0; i < 2; i += 1) {
    const socket = connect(port, '127.0.0.2')
    socket.on('error', () => socket.destroy())
    held.push(socket)
    await new Promise((resolve) => socket.once('connect', resolve))
  }
}

it('tries the next address while one does not answer, and closes the slower connection', async () => {
  const server = createServer((socket) => socket.on('error', () => socket.destroy()).resume())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanups.push(() => new Promise((resolve) => server.close(resolve)))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  await deafServerAt(port)
  const addresses = [
    { address: '127.0.0.2', family: 4 },
    { address: '127.0.0.1', family: 4 },
  ]
  const socket = await openSocket(addresses, port, new AbortController().signal)
  expect(socket.remoteAddress).toBe('127.0.0.1')
  socket.destroy()
})

it('gives up with the reason of its signal, before and during the attempt', async () => {
  const stopped = AbortSignal.abort(new Error('stopped'))
  const address = [{ address: '127.0.0.1', family: 4 }]
  await expect(openSocket(address, 1, stopped)).rejects.toThrow('stopped')
  const stop = new AbortController()
  const opening = openSocket(address, 1, stop.signal)
  stop.abort(new Error('stopped'))
  await expect(opening).rejects.toThrow('stopped')
})
