/** Bodies of sendEmail as large as they may be, through a running service. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { TURN_CPU_MS_MAX, turnIn } from './drive-doors.ts'
import { largeBodies } from './large-bodies.ts'
import { openService } from './open-service.ts'
import { postRaw } from './send-http.ts'

let service: Awaited<ReturnType<typeof openService>>
let apiKey: string
beforeAll(async () => {
  service = await openService()
  const { world } = service.deps
  const tenant = await world.newTenant()
  apiKey = tenant.apiKey
  const smtp = await world.newSmtpServer()
  await tenant.client.configureSMTP({
    name: 'News',
    email: 'news@sender.test',
    config_type: 'smtp',
    connection_type: 'basic',
    config: { host: '127.0.0.1', port: smtp.port, secure: 'None' },
  })
})
afterAll(() => service.close())

it.each(largeBodies)('[Q3] 39 MiB of $name do not block the event loop', async ({ name, make }) => {
  const running = service.deps.world.service()
  const seen = running.process.lines.length
  const answer = await postRaw(running.port, '/v1/email/send', make(), {
    Authorization: `Bearer ${apiKey}`,
    'Content-Type': 'application/json',
    'Idempotency-Key': name,
  })
  expect(answer).toMatch(/^HTTP\/1\.1 (202|400) /)
  expect((await fetch(`${running.origin}/healthz`)).status).toBe(200)
  const turns = running.process.lines.slice(seen).map(turnIn)
  expect(Math.max(0, ...turns)).toBeLessThan(TURN_CPU_MS_MAX)
})
