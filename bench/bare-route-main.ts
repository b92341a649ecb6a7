/**
 * The routes of sendEmail, with its schemas, of pixel and redirect, and of callbacks, with nothing behind
 * them: what Fastify alone costs.
 */
import type { AddressInfo } from 'node:net'
import { operations, type SendEmailBody, sendEmailAnswer, sendEmailBody } from '@postrider/contract'
import fastify from 'fastify'
import { serveParent } from './worker.ts'

const { path, status } = operations.sendEmail
const app = fastify({
  bodyLimit: 40 * 1024 * 1024,
  ajv: { customOptions: { removeAdditional: false, coerceTypes: false, useDefaults: false } },
})
app.post<{ Body: SendEmailBody }>(
  path,
  { schema: { body: sendEmailBody, response: { [status]: sendEmailAnswer } } },
  async (request, reply) => {
    reply.code(status)
    return {
      success: true,
      message: 'Email accepted',
      ref_id: '01JD4M8W6ZQ3V5T7X9Y2A4C6E8',
      recipients: request.body.to.map(({ email }) => ({ email, type: 'to', status: 'queued' })),
    }
  },
)
app.post('/callbacks', async (request) => ({
  success: Array.isArray(request.body),
  message: 'Callback stored',
}))
const pixel = Buffer.from('R0lGODlhAQABAPAAAAAAAAAAACH5BAEAAAAALAAAAAABAAEAAAICRAEAOw==', 'base64')
app.get('/t/o/:file', async (_request, reply) =>
  reply.headers({ 'content-type': 'image/gif', 'cache-control': 'no-store' }).send(pixel),
)
app.get('/t/c/:token', async (_request, reply) =>
  reply
    .code(302)
    .headers({
      location: 'https://shop.example.com/offers/1?utm_source=news',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
    })
    .send(),
)
await app.listen({ host: '127.0.0.1', port: 0 })
serveParent({ port: () => (app.server.address() as AddressInfo).port })
