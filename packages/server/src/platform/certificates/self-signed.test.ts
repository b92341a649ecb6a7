import { X509Certificate } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { connect, createServer } from 'node:tls'
import { expect, it } from 'vitest'
import { makeSelfSigned } from './self-signed.ts'

const NOW_MS = Date.parse('2026-11-22T10:00:00Z')
const YEAR_MS = 365 * 86_400_000

it('a self-signed certificate is read by others with its intended fields', () => {
  const host = 'mx.example.com'
  const { cert, key } = makeSelfSigned({ host, nowMs: NOW_MS, validMs: YEAR_MS })
  const read = new X509Certificate(cert)
  expect(read.checkHost(host)).toBe(host)
  expect(read.checkIssued(read)).toBe(true)
  expect(read.verify(read.publicKey)).toBe(true)
  expect(key).toMatch(/^-----BEGIN PRIVATE KEY-----/)
  expect(read.validFromDate.toISOString()).toBe('2026-11-22T09:00:00.000Z')
  expect(read.validToDate.toISOString()).toBe('2027-11-22T10:00:00.000Z')
})

it('a self-signed certificate may be valid beyond 2049, and bear the longest name', () => {
  const label = 'x'.repeat(60)
  const host = `${label}.${label}.${label}.${label}.test`
  const { cert } = makeSelfSigned({ host, nowMs: NOW_MS, validMs: 30 * YEAR_MS })
  const read = new X509Certificate(cert)
  expect(read.checkHost(host)).toBe(host)
  expect(read.validToDate.getUTCFullYear()).toBe(2056)
})

it('no two self-signed certificates share a serial number or a key', () => {
  const made = [0, 1].map(
    () =>
      new X509Certificate(
        makeSelfSigned({ host: 'mx.example.com', nowMs: NOW_MS, validMs: YEAR_MS }).cert,
      ),
  )
  expect(new Set(made.map((one) => one.serialNumber)).size).toBe(2)
  expect(
    new Set(made.map((one) => one.publicKey.export({ type: 'spki', format: 'pem' }))).size,
  ).toBe(2)
})

it('a self-signed certificate works for TLS with a client that trusts it', async () => {
  const host = 'localhost'
  const pair = makeSelfSigned({ host, nowMs: Date.now(), validMs: YEAR_MS })
  const server = createServer(pair, (socket) => socket.end('hello'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const socket = connect({ port, host: '127.0.0.1', servername: host, ca: pair.cert })
  const said = await new Promise<string>((resolve, reject) => {
    socket.once('error', reject)
    socket.once('data', (data) => resolve(data.toString()))
  })
  expect(said).toBe('hello')
  socket.destroy()
  await new Promise((resolve) => server.close(resolve))
})
