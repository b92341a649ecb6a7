/** How the service starts where something is not as it should be. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect as connectTcp, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  findFreePort,
  type RunningProcess,
  startProcess,
  startService,
  unbundled,
} from '@postrider/testkit'
import { createDatabase } from '@postrider/testkit/database'
import { afterEach, describe, expect, inject, it } from 'vitest'

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

function dataDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'postrider-start-'))
  cleanups.push(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

const hosted = (port: number) => ({
  POSTRIDER_DATABASE_URL: `postgresql://postrider@127.0.0.1:${port}/postrider`,
  POSTRIDER_SECRET_KEYS: `k:${randomBytes(32).toString('base64')}`,
  POSTRIDER_ADMIN_TOKEN: randomBytes(16).toString('hex'),
  POSTRIDER_PORT: '0',
})

async function startWaiting(port: number): Promise<RunningProcess> {
  const ready = /"msg":"database\.not_reachable_yet"/
  const running = await startProcess({ script: unbundled.service, env: hosted(port), ready })
  cleanups.push(() => running.kill())
  return running
}

/** The test server's Unix socket, under a port of its own. */
async function relayTo(serverUrl: string, port: number): Promise<void> {
  const path = `${new URL(serverUrl.replace(/^postgres(ql)?:/, 'http:').replace('@/', '@x/')).searchParams.get('host')}/.s.PGSQL.5432`
  const sockets = new Set<Socket>()
  const server: Server = createServer((near) => {
    const far = connectTcp(path)
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => socket.destroy())
      socket.on('close', () => sockets.delete(socket))
    }
    near.pipe(far).pipe(near)
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy()
    return new Promise((resolve) => server.close(resolve))
  })
}

describe('a database that does not exist yet', () => {
  it.skipIf(!inject('testDatabase').serverUrl.includes('host='))('delays the start', async () => {
    const { serverUrl } = inject('testDatabase')
    const copy = await createDatabase({ serverUrl })
    cleanups.push(() => copy.close())
    const port = await findFreePort()
    const url = new URL(copy.url.replace(/^postgres(ql)?:/, 'http:').replace('@/', '@x/'))
    const running = await startProcess({
      script: unbundled.service,
      env: {
        ...hosted(port),
        POSTRIDER_DATABASE_URL: `postgresql://${url.username}:${url.password}@127.0.0.1:${port}${url.pathname}`,
      },
      ready: /"msg":"database\.not_reachable_yet"/,
    })
    cleanups.push(() => running.kill())
    await relayTo(serverUrl, port)
    await running.waitForLine(/"msg":"service\.started"/)
    await running.waitForLine(/postrider tenant create NAME/)
    expect(await running.kill('SIGTERM')).toEqual({ code: 0, signal: null })
  })

  it('does not leave probes without an answer', async () => {
    const running = await startWaiting(await findFreePort())
    const line = running.lines.find((one) => one.includes('database.not_reachable_yet')) ?? '{}'
    const ask = (path: string) => fetch(`http://127.0.0.1:${JSON.parse(line).port}${path}`)
    expect((await ask('/healthz')).status).toBe(200)
    const [ready, other] = [await ask('/readyz'), await ask('/t/o/x.gif')]
    expect([ready.status, other.status]).toEqual([503, 503])
    expect(await ready.text()).toContain('database (not reachable yet)')
    expect(other.headers.get('retry-after')).toBe('5')
  })

  it('does not prevent the end of the service', async () => {
    const running = await startWaiting(await findFreePort())
    expect(await running.kill('SIGTERM')).toEqual({ code: 0, signal: null })
    expect(running.lines.join('\n')).toContain('service.stopped')
  })
})

describe('a port in use', () => {
  it('is named by its variable, and creates no API key', async () => {
    const dir = dataDir()
    const occupant = createServer()
    const port = await findFreePort()
    await new Promise<void>((resolve) => occupant.listen(port, '127.0.0.1', resolve))
    cleanups.push(() => new Promise((resolve) => occupant.close(resolve)))
    const env = { POSTRIDER_DATA_DIR: dir, POSTRIDER_PORT: String(port) }
    const failing = await startProcess({ script: unbundled.service, env })
    expect(await failing.exited).toEqual({ code: 1, signal: null })
    expect(failing.lines.join('\n')).toMatch(/could not start: .*EADDRINUSE.* POSTRIDER_PORT/)

    const service = await startService({ program: unbundled.service, env: { DATA_DIR: dir } })
    cleanups.push(() => service.stop())
    await service.process.waitForLine(/^ {2}pr_[0-9A-Za-z]{49}$/)
  })
})

describe('the default port of inbound mail', () => {
  it('may be in use: the service starts without it, and says so', async () => {
    // An address of its own: the port is every service's default.
    const host = '127.77.0.1'
    const occupant = createServer()
    await new Promise<void>((resolve) => occupant.listen(2_525, host, resolve))
    cleanups.push(() => new Promise((resolve) => occupant.close(resolve)))
    const env = {
      POSTRIDER_DATA_DIR: dataDir(),
      POSTRIDER_HOST: host,
      POSTRIDER_PORT: '0',
      POSTRIDER_HELO_NAME: 'mail',
    }
    const running = await startProcess({
      script: unbundled.service,
      env,
      ready: /"service\.started"/,
    })
    cleanups.push(() => running.kill())
    const { port } = JSON.parse(await running.waitForLine(/"service\.started"/))
    const ask = (path: string) => fetch(`http://${host}:${port}${path}`)
    const ready = await ask('/readyz')
    expect(ready.status).toBe(200)
    expect(await ready.json()).toMatchObject({
      details: { inbound: expect.stringMatching(/port 2525 .*POSTRIDER_INBOUND_PORT/) },
    })
    const printed = running.lines.join('\n')
    expect(printed).toContain('inbound_listener.port_taken')
    expect(printed).toMatch(/"name":"POSTRIDER_HELO_NAME","value":"mail"/)

    const [started = '{}'] = running.lines
    const alive = (await (await ask('/healthz')).json()) as Record<string, unknown>
    expect(alive).toMatchObject({ status: 'ok', version: expect.any(String) })
    expect(JSON.parse(started)).toMatchObject({ version: alive.version, commit: alive.commit })
  })
})

describe('command-line arguments of npm start', () => {
  const program = new URL('../packages/server/src/main.ts', import.meta.url).pathname
  it.each([
    [['--help'], 0, /^npm start runs the service/],
    [['serve'], 2, /^There is no argument serve\.\nnpm start runs/],
  ])('%j start nothing, and end with %d', async (args, code, words) => {
    const ended = await startProcess({ script: program, args, env: {} })
    expect(await ended.exited).toEqual({ code, signal: null })
    expect(ended.lines.join('\n')).toMatch(words)
  })
})
