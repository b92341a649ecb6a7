import { createRawClient } from '@postrider/testkit'
import { afterEach, describe, expect, it } from 'vitest'
import type { HttpServer } from './platform/http/server.ts'
import { createLogger } from './platform/log.ts'
import { createWaitingServer } from './startup-server.ts'

let server: HttpServer | undefined
afterEach(() => server?.stop())

async function start(): Promise<string> {
  server = createWaitingServer({
    config: { host: '127.0.0.1', port: 0 },
    log: createLogger({ level: 'silent' }),
    build: { version: '1', commit: 'unknown' },
  })
  await server.start()
  return `http://127.0.0.1:${server.address().port}`
}

describe('while the service waits for its database', () => {
  it.each([
    ['a mail', '/v1/email/send', 'application/json', '{"from":{"email":"a@example.com"}}'],
    ['what is no JSON', '/v1/email/send', 'application/json', '{'],
    ['a form of a provider', '/callbacks/sendgrid/x', 'application/x-www-form-urlencoded', 'a=b'],
    ['nothing', '/v1/email/send', 'application/json', ''],
  ])('answers 503 to a request with %s', async (_name, path, type, body) => {
    const base = await start()
    const headers = { 'content-type': type }
    const answer = await fetch(base + path, { method: 'POST', headers, body })
    expect(answer.status).toBe(503)
    expect(answer.headers.get('retry-after')).toBe('5')
    expect(await answer.json()).toMatchObject({ success: false, code: 'unavailable' })
  })

  it('answers 503 before a large body has arrived', async () => {
    const { port } = new URL(await start())
    const client = createRawClient(Number(port))
    client.send(
      'POST /v1/email/send HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 41943040\r\n\r\n{',
    )
    expect(await client.see(/\r\n\r\n/)).toMatch(/^HTTP\/1\.1 503 /)
    client.close()
  })

  it('says that the process is alive', async () => {
    expect((await fetch(`${await start()}/healthz`)).status).toBe(200)
  })
})
