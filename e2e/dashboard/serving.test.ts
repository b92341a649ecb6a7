/** How the service serves the dashboard (docs/reference/dashboard.md): over the wire, from the real build. */
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createWorld, type World } from '../world.ts'
import { buildDashboard } from './house.ts'

/** As it is written here: a client would shorten the path. */
function getRaw(port: number, target: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = ''
    const socket = connect(port, '127.0.0.1', () =>
      socket.write(`GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`),
    )
    socket.setEncoding('latin1')
    socket.on('data', (text) => {
      answer += text
    })
    socket.on('end', () => resolve(answer)).on('error', reject)
  })
}

describe('the dashboard of a service', () => {
  let world: World
  let origin: string
  beforeAll(async () => {
    await buildDashboard()
    world = createWorld()
    await world.start()
    origin = world.service().origin
  })
  afterAll(() => world?.destroy())

  it('is where / leads to, and its page names files that there are, kept for a year', async () => {
    const page = await fetch(`${origin}/`)
    expect(page.url).toBe(`${origin}/app/`)
    expect(page.status).toBe(200)
    expect(page.headers.get('cache-control')).toBe('no-store')
    const html = await page.text()
    expect(html).not.toMatch(/__[A-Z_]+__/)
    const files = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path ?? '')
    expect(files.filter((path) => path.endsWith('.js'))).not.toEqual([])
    for (const path of files) {
      expect(path).toMatch(/^\/app\/assets\/[\w.-]+-[\w-]{8}\.\w+$/)
      const file = await fetch(origin + path)
      expect(file.status).toBe(200)
      expect(file.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
      if (/\.(?:js|css)$/.test(path)) expect(file.headers.get('content-encoding')).not.toBeNull()
    }
  })

  it.each([
    '/app/assets/../index.html',
    '/app/assets/../../package.json',
    '/app/assets/..%2f..%2fpackage.json',
    '/app/assets/%2e%2e/.stamp',
    '/app/assets/..\\..\\package.json',
    '/app/assets//etc/passwd',
  ])('gives no file for %s', async (target) => {
    const answer = await getRaw(world.service().port, target)
    expect(answer).toMatch(/^HTTP\/1\.1 404 /)
    expect(answer).toContain('"code":"not_found"')
  })

  it('is not there with DASHBOARD=off, and no link for a first user is printed', async () => {
    const other = createWorld({ DASHBOARD: 'off' })
    onTestFinished(() => other.destroy())
    await other.start()
    const beside = other.service()
    for (const path of ['/', '/app', '/app/', '/app/login', '/app/assets/x.js']) {
      const answer = await fetch(beside.origin + path, { redirect: 'manual' })
      expect(`${path} ${answer.status}`).toBe(`${path} 404`)
    }
    await beside.process.waitForLine(/Postrider is running/)
    expect(beside.process.lines.join('\n')).not.toContain('/app/')
    expect((await fetch(`${beside.origin}/healthz`)).status).toBe(200)
  })
})
