/**
 * The main job: accepted over HTTP, taken by the SMTP sink, event stored, webhook delivered, through
 * 1, 10 and 100 mailers; against nodemailer's pool and Postfix into the same sink. The mails are no more
 * compressible than mail is; one row has a mail that compresses to nothing, for what the difference costs.
 * Each run measures all of them, one after the other; the first warms all of them up.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { operations, type SendEmailBody } from '@postrider/contract'
import { findFreePort } from '@postrider/testkit'
import { honestMail, mailOf, partsOf, withText } from './mail.ts'
import { cpuSeconds, treeCpuSeconds } from './measure.ts'
import type { MailOrder } from './nodemailer-main.ts'
import { type PostfixServer, postfixHindrance, startPostfix } from './postfix.ts'
import {
  type BenchOrder,
  heading,
  reportRate,
  reportRatios,
  type Sample,
  sampleOf,
} from './report.ts'
import { type Service, sender, startService } from './service.ts'
import type { Worker } from './worker.ts'

const connections = 16
const timeoutMs = 180_000
/** The text part has a quarter of it. */
const htmlBytes = 3700
/** Each mail of a run is one of so many. */
const differentMails = 200

const variants = [
  ...[1, 10, 100].map((mailers) => ({
    ...{ name: `mailers: ${mailers}`, mails: () => mailsOf(mailers) },
    isCompared: true,
  })),
  // Its peers send the mail of the others.
  { name: 'mail that compresses', mails: () => [mailOf(htmlBytes)], isCompared: false },
]
const mailersMax = 100

interface Parts {
  readonly sink: Worker
  readonly receiver: Worker
  readonly load: Worker
  readonly mailer: Worker
  readonly service: Service
  readonly postfix: PostfixServer | undefined
}

/** Each has a mailer of its own. */
function senders(count: number): string[] {
  return [sender, ...Array.from({ length: count - 1 }, (_, i) => `sender-${i}@example.com`)]
}

export async function measurePath(o: BenchOrder): Promise<void> {
  heading(
    `Accept -> SMTP -> event -> webhook, mails of 5 kB, ${connections} connections, ${o.count} mails a run`,
  )
  const sink = await o.startWorker('./sink-main.ts')
  const receiver = await o.startWorker('./receiver-main.ts')
  const load = await o.startWorker('./load-main.ts')
  const mailer = await o.startWorker('./nodemailer-main.ts')
  const sinkPort = await sink.call<number>('port')
  const hindrance = postfixHindrance()
  const postfix = hindrance === undefined ? await startPrivatePostfix(o, sinkPort) : undefined
  const service = await startService({
    roles: 'all',
    sinkPort,
    receiverPort: await receiver.call('port'),
    connections,
    moreSenders: senders(mailersMax).slice(1),
    logLevel: o.logLevel,
    profileDir: o.profileDir,
  })
  o.stopAtEnd(() => service.stop())
  await compare(o, { sink, receiver, load, mailer, service, postfix }, hindrance)
}

async function startPrivatePostfix(o: BenchOrder, relayPort: number): Promise<PostfixServer> {
  const dir = mkdtempSync(join(tmpdir(), 'postrider-bench-postfix-'))
  o.stopAtEnd(() => rmSync(dir, { recursive: true, force: true }))
  const postfix = startPostfix({ dir, port: await findFreePort(), relayPort })
  o.stopAtEnd(() => postfix.stop())
  return postfix
}

async function compare(o: BenchOrder, parts: Parts, hindrance: string | undefined): Promise<void> {
  const { postfix } = parts
  const byPool: Sample[] = []
  const byQueue: Sample[] = []
  const byUs = variants.map((variant) => ({ ...variant, samples: [] as Sample[] }))
  for (let run = 0; run <= o.runs; run += 1) {
    const isWarmUp = run === 0
    const { count } = o
    const keep = (samples: Sample[], sample: Sample) => isWarmUp || samples.push(sample)
    keep(byPool, await clean(parts, () => byNodemailer(count, parts)))
    if (postfix) {
      const fewer = Math.ceil(count / 2)
      keep(byQueue, await clean(parts, () => byPostfix(fewer, parts, postfix)))
    }
    for (const { mails, samples } of byUs)
      keep(samples, await clean(parts, () => byService(count, mails(), parts)))
  }
  reportRate(`nodemailer's pool alone`, byPool)
  if (postfix) reportRate('Postfix, accept-queue-deliver', byQueue)
  else console.log(`  ${'Postfix'.padEnd(34)} ${hindrance}`)
  for (const { name, samples } of byUs) reportRate(`the service, ${name}`, samples)
  const counts = await parts.receiver.call('counts')
  console.log(`  ${''.padEnd(34)} last run at the receiver: ${JSON.stringify(counts)}`)
  for (const { name, samples } of byUs.filter(({ isCompared }) => isCompared)) {
    reportRatios(`nodemailer's pool, ${name}`, samples, byPool, 'aim: 1.0')
    if (postfix) reportRatios(`Postfix, ${name}`, samples, byQueue, 'at least 2')
  }
}

async function clean(parts: Parts, run: () => Promise<Sample>): Promise<Sample> {
  await parts.sink.call('clear')
  await parts.receiver.call('clear')
  return await run()
}

function byNodemailer(count: number, { mailer, sink }: Parts): Promise<Sample> {
  const clocks = {
    nodemailer: () => cpuSeconds(mailer.pid),
    sink: () => cpuSeconds(sink.pid),
  }
  return sampleOf(clocks, async () => {
    const port = await sink.call<number>('port')
    const startedAt = performance.now()
    await mailer.call('send', mailOrder(port, count, false))
    return { units: count, elapsedMs: performance.now() - startedAt }
  })
}

function byPostfix(count: number, parts: Parts, postfix: PostfixServer): Promise<Sample> {
  return sampleOf({ postfix: () => treeCpuSeconds(postfix.masterPid) }, async () => {
    const startedAt = performance.now()
    await parts.mailer.call('send', mailOrder(postfix.port, count, true))
    await parts.sink.call('waitFor', { count, timeoutMs })
    return { units: count, elapsedMs: performance.now() - startedAt }
  })
}

function mailOrder(port: number, count: number, prebuilt: boolean): MailOrder {
  const mail = withText(honestMail('of a peer'))
  const { from, to, subject } = mail
  return {
    port,
    connections,
    count,
    from: from.email,
    to: to[0]?.email ?? '',
    subject,
    ...partsOf(mail),
    prebuilt,
  }
}

/** From each of so many mailers in turn. */
export function mailsOf(mailers: number): SendEmailBody[] {
  const from = senders(mailers)
  return Array.from({ length: differentMails }, (_, i) =>
    withText(honestMail(String(i), from[i % from.length])),
  )
}

/** From the first request to the last MAIL_DELIVERED at the webhook receiver. */
export type ServiceParts = Pick<Parts, 'load' | 'receiver' | 'sink' | 'service'>

/** A service with all roles, and what it sends to. */
export async function startServiceParts(o: BenchOrder): Promise<ServiceParts> {
  const sink = await o.startWorker('./sink-main.ts')
  const receiver = await o.startWorker('./receiver-main.ts')
  const load = await o.startWorker('./load-main.ts')
  const service = await startService({
    roles: 'all',
    sinkPort: await sink.call('port'),
    receiverPort: await receiver.call('port'),
    connections,
    logLevel: o.logLevel,
  })
  o.stopAtEnd(() => service.stop())
  return { sink, receiver, load, service }
}

export function byService(
  count: number,
  mails: readonly SendEmailBody[],
  { load, receiver, sink, service }: ServiceParts,
): Promise<Sample> {
  const clocks = {
    service: () => cpuSeconds(service.pid),
    postgres: () => treeCpuSeconds(service.databasePid),
    callers: () => cpuSeconds(load.pid),
    sink: () => cpuSeconds(sink.pid),
    receiver: () => cpuSeconds(receiver.pid),
  }
  return sampleOf(clocks, async () => {
    const startedAt = performance.now()
    const posted = load.call<{ statuses: Record<string, number> }>('post', {
      origin: service.origin,
      path: operations.sendEmail.path,
      headers: service.headers,
      bodies: mails.map((mail) => JSON.stringify(mail)),
      callers: 64,
      count,
    })
    const delivered = receiver.call('waitFor', { count, timeoutMs })
    const [{ statuses }] = await Promise.all([posted, delivered])
    if (statuses['202'] !== count) throw new Error(`answers: ${JSON.stringify(statuses)}`)
    return { units: count, elapsedMs: performance.now() - startedAt }
  })
}
