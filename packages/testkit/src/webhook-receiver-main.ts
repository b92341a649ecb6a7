/**
 * The webhook receiver as a process of its own, for tests that kill everything around it:
 *
 *   node webhook-receiver-main.ts --log facts.ndjson [--port n] [--answers 200,200,503,rst]
 *
 * The answers go round and round; `rst` and `fin` cut the connection instead of answering, `hang`
 * never answers. A request is logged before it is answered. Prints `listening on <port>`.
 */
import { parseArgs } from 'node:util'
import { openNdjsonLog } from './ndjson.ts'
import { createWebhookReceiver, type WebhookAnswer } from './webhook-receiver.ts'

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    log: { type: 'string' },
    answers: { type: 'string', default: '200' },
  },
})
if (values.log === undefined) throw new Error('--log is required')
const log = openNdjsonLog(values.log)
const answers = values.answers.split(',').map(readAnswer)
let next = 0

const receiver = await createWebhookReceiver({
  port: Number(values.port),
  script: () => answers[next++ % answers.length],
  onRequest: (request) =>
    log.append({
      fact: 'request.received',
      request: request.request,
      connection: request.connection,
      method: request.method,
      path: request.path,
      headers: request.rawHeaders,
      body: request.body.toString('utf8'),
      answer: request.answer,
    }),
  onAnswered: (request) => log.append({ fact: 'answer.flushed', request: request.request }),
})
log.append({ fact: 'listening', port: receiver.port })
process.once('SIGTERM', () => void receiver.close().then(() => log.close()))
process.stdout.write(`listening on ${receiver.port}\n`)

function readAnswer(text: string): WebhookAnswer {
  if (text === 'rst' || text === 'fin' || text === 'hang') return { ending: text }
  if (/^[1-5]\d\d$/.test(text)) return { status: Number(text) }
  throw new Error(`not an answer: ${text}`)
}
