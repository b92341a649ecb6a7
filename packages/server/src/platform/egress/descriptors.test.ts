/** Without a free file descriptor nothing that goes out is tried, and no peer is blamed. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { createLogger } from '../log.ts'
import { createMetrics } from '../metrics.ts'
import { createDescriptors } from '../process/descriptors.ts'

const fixture = fileURLToPath(new URL('./descriptors.fixture.ts', import.meta.url))

it('reports connections and lookups as busy, and works again once descriptors are free', async () => {
  const server = createServer((_request, response) => response.end('ok'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  try {
    const command = `ulimit -n 100; exec "${process.execPath}" "${fixture}" ${port}`
    const child = spawn('bash', ['-c', command], { stdio: ['ignore', 'pipe', 'pipe'] })
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
    expect(err).toBe('')
    const { without, count, ...after } = JSON.parse(out)
    expect(without).toEqual({
      connect: 'busy',
      byName: 'busy',
      request: 'busy',
      resolve: 'busy',
      dns: { kind: 'unknown', why: 'busy', aliases: [] },
      areOut: true,
    })
    expect(after).toEqual({ areOutBriefly: true, areOutLater: false, connect: 'done' })
    expect(count).toBeGreaterThanOrEqual(5)
  } finally {
    server.close()
  }
})

it('logs once in ten seconds, with the count', () => {
  let nowMs = 0
  const lines: string[] = []
  const destination = new PassThrough()
  destination.on('data', (line) => lines.push(String(line)))
  const descriptors = createDescriptors({
    log: createLogger({ level: 'info', destination }),
    metrics: createMetrics(),
    monotonicMs: () => nowMs,
  })
  const error = Object.assign(new Error('connect EMFILE'), { code: 'EMFILE' })
  for (let i = 0; i < 100; i++) expect(descriptors.ranOut(error)).toBe(true)
  expect(lines).toHaveLength(1)
  nowMs = 10_000
  descriptors.ranOut(Object.assign(new Error('ENFILE'), { code: 'ENFILE' }))
  expect(lines).toHaveLength(2)
  expect(JSON.parse(lines[1] ?? '')).toMatchObject({ level: 'error', count: 100 })
  expect(descriptors.ranOut(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }))).toBe(
    false,
  )
})
