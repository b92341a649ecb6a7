/** A running service has no file descriptor left, and goes on by itself when some are free again. */
import { randomBytes } from 'node:crypto'
import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { createSmtpServer, startService } from '@postrider/testkit'
import { createDatabase } from '@postrider/testkit/database'
import { expect, inject, it } from 'vitest'

const { serverUrl, templateWithDays: template } = inject('testDatabase')
const program = new URL('./few-files-main.ts', import.meta.url).pathname
/** More than the process may have open. */
const FLOOD = 300

it('[E2] a service without file descriptors defers mail without an attempt, says so, and recovers', async () => {
  const database = await createDatabase({ serverUrl, template })
  const smtp = await createSmtpServer()
  const apiKey = randomBytes(24).toString('hex')
  const service = await startService({
    program,
    env: {
      DATABASE_URL: database.url,
      SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
      ADMIN_TOKEN: randomBytes(24).toString('hex'),
      API_KEY: apiKey,
      ALLOW_NETWORKS: '127.0.0.0/8',
      HTTP_CONNECTIONS_MAX: '4000',
      ROLES: 'api,sender',
      DATABASE_POOL: '3',
    },
    readyTimeoutMs: 60_000,
  })
  // The one connection that is there before.
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const ask = (method: string, path: string, body?: object) =>
    new Promise<{ status: number; body: string }>((resolve, reject) => {
      const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' }
      const asked = request(`${service.origin}${path}`, { method, agent, headers }, (answer) => {
        text(answer).then((read) => resolve({ status: answer.statusCode ?? 0, body: read }), reject)
      })
      asked.on('error', reject)
      asked.end(body === undefined ? undefined : JSON.stringify(body))
    })
  const logged = (message: string) =>
    service.process.lines.filter((line) => line.includes(`"msg":"${message}`))
  const outcomes = () =>
    logged('attempt.finished').map((line) => {
      const { outcome, attempt } = JSON.parse(line)
      return `${outcome} ${attempt}`
    })
  const flood = new Set<Socket>()
  let isFlooding = true
  const dial = () => {
    const socket = connect(service.port, '127.0.0.1')
    flood.add(socket)
    socket.on('connect', () => socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'))
    socket.on('error', () => socket.destroy())
    socket.resume()
    socket.on('close', () => {
      flood.delete(socket)
      // What becomes free is taken again.
      if (isFlooding) setTimeout(() => isFlooding && dial(), 50)
    })
  }
  try {
    expect(logged('config.http_connections_above_descriptors')).toHaveLength(1)
    const mailer = await ask('POST', '/v1/smtp', {
      name: 'News',
      email: 'news@sender.test',
      config_type: 'smtp',
      connection_type: 'basic',
      config: { host: '127.0.0.1', port: smtp.port, secure: 'None' },
      verify: false,
    })
    expect(mailer.status, mailer.body).toBeLessThan(300)
    for (let i = 0; i < FLOOD; i++) dial()
    const readyz = async () => (await ask('GET', '/readyz')).body
    await expect.poll(readyz, { timeout: 30_000 }).toContain('no free file descriptors')
    const exhausted = async () => {
      const { body } = await ask('GET', '/metrics')
      return Number(/^postrider_descriptors_exhausted_total (\d+)/m.exec(body)?.[1])
    }
    const before = await exhausted()
    const sent = await ask('POST', '/v1/email/send', {
      from: { email: 'news@sender.test' },
      to: [{ email: 'one@recipient.test' }],
      subject: 'Hello',
      content: [{ type: 'text/plain', value: 'Hi.' }],
    })
    expect(sent.status, sent.body).toBe(202)
    // Nothing but the sender's connections counts here.
    await expect.poll(exhausted, { timeout: 30_000 }).toBeGreaterThan(before + 1)
    // An attempt is told of once its end is committed.
    await expect.poll(() => outcomes().length, { timeout: 30_000 }).toBeGreaterThan(1)
    expect(logged('descriptors.exhausted').length).toBeGreaterThan(0)
    expect(smtp.messages).toEqual([])
    expect(new Set(outcomes())).toEqual(new Set(['undone 1']))
    isFlooding = false
    for (const socket of flood) socket.destroy()
    await smtp.waitForMessages(1, 30_000)
    // No attempt was counted before.
    await expect.poll(() => outcomes().at(-1)).toBe('accepted 1')
    expect(outcomes().slice(0, -1)).not.toContain('accepted 1')
    expect(new Set(outcomes())).toEqual(new Set(['undone 1', 'accepted 1']))
    await expect.poll(readyz, { timeout: 30_000 }).not.toContain('no free file descriptors')
    expect(logged('service.stopping')).toEqual([])
  } finally {
    isFlooding = false
    for (const socket of flood) socket.destroy()
    agent.destroy()
    await service.stop()
    await smtp.close()
    await database.close()
  }
}, 120_000)
