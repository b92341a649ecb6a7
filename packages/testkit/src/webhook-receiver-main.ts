/**
 * The webhook receiver as a process of its own, for tests that kill everything around it:
 *
 *   node webhook-receiver-main.ts --log facts.ndjson [--port n] [--answers 200,200,503,rst]
 *     [--poison text [--refusals 400,422]] [--most /path=8]
 *
 * The answers go round and round; `rst` and `fin` cut the connection instead of answering, `hang`
 * never answers. A body with the poison in it is refused, by one refusal after the other, until
 * SIGUSR2 heals the receiver; on the path of `--most` so is an array of more elements, with a 413 and
 * for good. A request is logged before it is answered. Prints `listening on <port>`.
 */
import { parseArgs } from 'node:util'
import type { HttpAnswer } from './http-answer.ts'
import { openNdjsonLog } from './ndjson.ts'
import { createWebhookReceiver, type WebhookRequest } from './webhook-receiver.ts'

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    log: { type: 'string' },
    answers: { type: 'string', default: '200' },
    poison: { type: 'string' },
    refusals: { type: 'string', default: '400' },
    most: { type: 'string' },
  },
})
if (values.log === undefined) throw new Error('--log is required')
const log = openNdjsonLog(values.log)
const inTurn = (texts: string): (() => HttpAnswer) => {
  const answers = texts.split(',').map(readAnswer)
  let next = 0
  return () => answers[next++ % answers.length] ?? {}
}
const answer = inTurn(values.answers)
const refuse = inTurn(values.refusals)
const [shortPath, elementsMax = '0'] = values.most?.split('=') ?? []
let poison = values.poison

const receiver = await createWebhookReceiver({
  port: Number(values.port),
  script: (request) => {
    if (isTooLong(request)) return { status: 413 }
    return poison !== undefined && request.body.includes(poison) ? refuse() : answer()
  },
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
process.once('SIGUSR2', () => {
  poison = undefined
  log.append({ fact: 'healed' })
})
process.once('SIGTERM', () => void receiver.close().then(() => log.close()))
process.stdout.write(`listening on ${receiver.port}\n`)

function isTooLong({ path, json }: WebhookRequest): boolean {
  return path === shortPath && Array.isArray(json) && json.length > Number(elementsMax)
}

function readAnswer(text: string): HttpAnswer {
  if (text === 'rst' || text === 'fin' || text === 'hang') return { ending: text }
  if (/^[1-5]\d\d$/.test(text)) return { status: Number(text) }
  throw new Error(`not an answer: ${text}`)
}
