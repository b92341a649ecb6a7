/**
 * An SMTP server and a webhook receiver on loopback that accept everything and print what arrives
 * (`npm run sink`), to try the service by hand before real ones are pointed at it.
 *
 *   node sink-main.ts [--smtp-port 2500] [--http-port 2580]
 */
import { parseArgs } from 'node:util'
import type { SmtpFact } from './smtp-facts.ts'
import { createSmtpServer } from './smtp-server.ts'
import { createWebhookReceiver, type WebhookRequest } from './webhook-receiver.ts'

const { values } = parseArgs({
  options: {
    'smtp-port': { type: 'string', default: '2500' },
    'http-port': { type: 'string', default: '2580' },
  },
})

const smtp = await listening('smtp-port', (port) =>
  createSmtpServer({
    port,
    record: 'all',
    onFact(fact) {
      if (fact.fact === 'message.received') showMail(fact)
    },
  }),
)
const receiver = await listening('http-port', (port) =>
  createWebhookReceiver({ port, onRequest: showRequest }),
)
write(`SMTP server       ${smtp.host}:${smtp.port}`)
write(`Webhook receiver  ${receiver.origin}/`)
write('Both accept everything and print it here. Stop with Ctrl-C.')

const stop = () => void Promise.all([smtp.close(), receiver.close()])
process.once('SIGINT', stop).once('SIGTERM', stop)

async function listening<T>(
  option: 'smtp-port' | 'http-port',
  open: (port: number) => Promise<T>,
): Promise<T> {
  const port = values[option]
  try {
    return await open(Number(port))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    process.stderr.write(
      `The sink cannot use port ${port} (${reason}); choose another: --${option}\n`,
    )
    process.exit(1)
  }
}

function showMail(mail: Extract<SmtpFact, { fact: 'message.received' }>): void {
  write(`\n--- mail from ${mail.from} to ${mail.recipients.join(', ')}`)
  write(mail.raw.toString('utf8').trimEnd())
  setImmediate(() => smtp.clear())
}

function showRequest(request: WebhookRequest): void {
  write(`\n--- webhook ${request.method} ${request.path}`)
  write(JSON.stringify(request.json, null, 2) ?? request.body.toString('utf8'))
  setImmediate(() => receiver.clear())
}

function write(line: string): void {
  process.stdout.write(`${line}\n`)
}
