import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Postrider, type WebhookStatus } from '@postrider/client'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { retriedStates, tryNow } from './try-now.ts'

let state: WebhookStatus['state']
let asked: string[]
const server = createServer((request, response) => {
  asked.push(`${request.method} ${request.url}`)
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ success: true, message: '', status: { state } }))
})
beforeEach(async () => {
  asked = []
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
})
afterEach(async () => {
  server.closeAllConnections()
  await new Promise((done) => server.close(done))
})

const tryIt = () => {
  const { port } = server.address() as AddressInfo
  return tryNow(new Postrider({ apiKey: 'k', basePath: `http://127.0.0.1:${port}` }), 'wh_1')
}

describe('"Try now"', () => {
  it('is for webhooks whose events wait until they are tried again', () => {
    expect(retriedStates.toSorted()).toEqual(['dormant', 'failing', 'parked'])
  })

  it.each(['failing', 'dormant', 'parked', 'idle'] as const)(
    'tries one that is %s',
    async (now) => {
      state = now
      expect(await tryIt()).toBe(true)
      expect(asked).toEqual(['GET /v1/webhook/wh_1/status', 'POST /v1/webhook/wh_1/resume'])
    },
  )

  it('leaves one alone that was paused meanwhile', async () => {
    state = 'paused'
    expect(await tryIt()).toBe(false)
    expect(asked).toEqual(['GET /v1/webhook/wh_1/status'])
  })
})
