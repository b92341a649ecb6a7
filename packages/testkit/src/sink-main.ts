/**
 * An SMTP server and a webhook receiver on loopback that print what arrives (`npm run sink`), to try
 * the service by hand before real ones are pointed at it; on request also a name server, by which an
 * inbound domain is verified that is nobody's. They accept everything but what they are told to refuse;
 * `HELP` says how.
 */
import { parseArgs } from 'node:util'
import { createDnsServer } from './dns/dns-server.ts'
import type { SmtpFact } from './smtp-facts.ts'
import type { SmtpContext } from './smtp-script.ts'
import { createSmtpServer } from './smtp-server.ts'
import { createWebhookReceiver, type WebhookRequest } from './webhook-receiver.ts'

const HELP = `An SMTP server and a webhook receiver that print what arrives.

  npm run sink -- [options]

  --smtp-port <port>         of the SMTP server; 0 takes a free one (default 2500)
  --http-port <port>         of the webhook receiver; likewise (default 2580)
  --webhook-status <status>  answer webhook requests with it, e.g. 503 (default 200)
  --mx <domain>=<host>       make a name server that has this MX record; again for another
  --dns-port <port>          of the name server, by UDP and TCP; 0 takes a free one (default 8053)
  --help                     this text

The name server knows the given records and nothing else.

Recipients whose address begins with "defer" are answered 450 (try again later), those whose address
begins with "refuse" 550 (never); all others are accepted.
`
/** Said by every HTTP client; what the service adds, and what a webhook's own headers are, is left. */
const USUAL_HEADERS = new Set(
  'accept accept-encoding connection content-length host keep-alive transfer-encoding user-agent'.split(
    ' ',
  ),
)

const values = readOptions()
const webhookStatus = Number(values['webhook-status'])
if (!Number.isInteger(webhookStatus) || webhookStatus < 200 || webhookStatus > 599)
  refuse('--webhook-status takes a status from 200 to 599')

const exchanges = readExchanges(values.mx)

const smtp = await listening('smtp-port', (port) =>
  createSmtpServer({
    port,
    record: 'all',
    script: answerRecipient,
    onFact(fact) {
      if (fact.fact === 'message.received') showMail(fact)
    },
  }),
)
const receiver = await listening('http-port', (port) =>
  createWebhookReceiver({
    port,
    script: () => webhookStatus,
    onRequest: showRequest,
  }),
)
const dns =
  exchanges.length === 0
    ? undefined
    : await listening('dns-port', (port) => createDnsServer({ port }))
dns?.publish(exchanges)
write(`SMTP server       ${smtp.host}:${smtp.port}`)
write(`Webhook receiver  ${receiver.origin}/`)
if (dns !== undefined) write(`Name server       ${dns.address}`)
write(
  webhookStatus < 300
    ? 'Both print what arrives, and accept it. Stop with Ctrl-C; --help tells how they refuse.'
    : `Both print what arrives; webhook requests are answered ${webhookStatus}. Stop with Ctrl-C.`,
)

const stop = () => void Promise.all([smtp.close(), receiver.close(), dns?.close()])
process.once('SIGINT', stop).once('SIGTERM', stop)

function readOptions() {
  const port = (number: string) => ({ type: 'string', default: number }) as const
  try {
    const { values } = parseArgs({
      options: {
        'smtp-port': port('2500'),
        'http-port': port('2580'),
        'webhook-status': { type: 'string', default: '200' },
        mx: { type: 'string', multiple: true, default: [] },
        'dns-port': port('8053'),
        help: { type: 'boolean', default: false },
      },
    })
    if (!values.help) return values
  } catch (error) {
    refuse(error instanceof Error ? error.message : String(error))
  }
  process.stdout.write(HELP)
  process.exit(0)
}

function readExchanges(given: readonly string[]) {
  return given.map((one) => {
    const [name = '', host = '', ...rest] = one.split('=')
    if (name === '' || host === '' || rest.length > 0)
      refuse('--mx takes a domain and a host, such as in.example.com=mx.example.com')
    return { type: 'MX', name, value: host, priority: 10 }
  })
}

function refuse(reason: string): never {
  process.stderr.write(`${reason}\n\n${HELP}`)
  process.exit(2)
}

function answerRecipient({ phase, recipient = '' }: SmtpContext): string | undefined {
  if (phase !== 'rcpt') return undefined
  if (/^defer/i.test(recipient)) return '450 4.2.1 Mailbox busy, try again later'
  return /^refuse/i.test(recipient) ? '550 5.1.1 No such user here' : undefined
}

async function listening<T>(
  option: 'smtp-port' | 'http-port' | 'dns-port',
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
  for (const [name, value] of request.rawHeaders)
    if (!USUAL_HEADERS.has(name.toLowerCase())) write(`${name}: ${value}`)
  write('')
  write(JSON.stringify(request.json, null, 2) ?? request.body.toString('utf8'))
  setImmediate(() => receiver.clear())
}

function write(line: string): void {
  process.stdout.write(`${line}\n`)
}
