/**
 * Mail of 5 kB handed in by SMTP, on 16 connections of nodemailer's pool that log in with a key: accepted,
 * sent into the sink, recorded and reported, against Postfix, which takes the same mails, queues them and
 * relays them into the same sink.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findFreePort } from '@postrider/testkit'
import { mailOf, partsOf } from './mail.ts'
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
const htmlBytes = 3700

interface Parts {
  readonly sink: Worker
  readonly receiver: Worker
  readonly mailer: Worker
  readonly service: Service
  readonly submissionPort: number
}

export async function measureSubmission(o: BenchOrder): Promise<void> {
  heading(`Mail of 5 kB by SMTP, ${connections} connections, ${o.count} mails a run`)
  const sink = await o.startWorker('./sink-main.ts')
  const receiver = await o.startWorker('./receiver-main.ts')
  const mailer = await o.startWorker('./nodemailer-main.ts')
  const sinkPort = await sink.call<number>('port')
  const submissionPort = await findFreePort()
  const service = await startService({
    roles: 'all',
    sinkPort,
    receiverPort: await receiver.call('port'),
    connections,
    logLevel: o.logLevel,
    profileDir: o.profileDir,
    moreEnv: { SUBMISSION_PORT: submissionPort },
  })
  o.stopAtEnd(() => service.stop())
  const hindrance = postfixHindrance()
  const postfix = hindrance === undefined ? await startPrivatePostfix(o, sinkPort) : undefined
  const parts: Parts = { sink, receiver, mailer, service, submissionPort }
  const [ours, theirs]: [Sample[], Sample[]] = [[], []]
  // The first warms both up.
  for (let run = 0; run <= o.runs; run += 1) {
    for (const worker of [sink, receiver]) await worker.call('clear')
    const one = await byService(o.count, parts)
    if (run > 0) ours.push(one)
    if (postfix === undefined) continue
    await sink.call('clear')
    const other = await byPostfix(o.count, parts, postfix)
    if (run > 0) theirs.push(other)
  }
  reportRate('the service, to the webhook', ours)
  if (hindrance !== undefined) console.log(`  ${'Postfix'.padEnd(34)} ${hindrance}`)
  else {
    reportRate('Postfix, to the sink', theirs)
    reportRatios('against Postfix', ours, theirs, 'aim: 0.5')
  }
}

async function startPrivatePostfix(o: BenchOrder, relayPort: number): Promise<PostfixServer> {
  const dir = mkdtempSync(join(tmpdir(), 'postrider-bench-postfix-'))
  o.stopAtEnd(() => rmSync(dir, { recursive: true, force: true }))
  const postfix = startPostfix({ dir, port: await findFreePort(), relayPort })
  o.stopAtEnd(() => postfix.stop())
  return postfix
}

function byService(count: number, parts: Parts): Promise<Sample> {
  const { receiver, mailer, service, submissionPort } = parts
  const clocks = {
    service: () => cpuSeconds(service.pid),
    postgres: () => treeCpuSeconds(service.databasePid),
  }
  return sampleOf(clocks, async () => {
    const startedAt = performance.now()
    const delivered = receiver.call('waitFor', { count, timeoutMs })
    // Told of where it is waited for.
    delivered.catch(() => undefined)
    await mailer.call('send', { ...orderOf(submissionPort, count), password: keyOf(service) })
    await delivered
    return { units: count, elapsedMs: performance.now() - startedAt }
  })
}

function byPostfix(count: number, { mailer, sink }: Parts, postfix: PostfixServer) {
  return sampleOf({ postfix: () => treeCpuSeconds(postfix.masterPid) }, async () => {
    const startedAt = performance.now()
    await mailer.call('send', orderOf(postfix.port, count))
    await sink.call('waitFor', { count, timeoutMs })
    return { units: count, elapsedMs: performance.now() - startedAt }
  })
}

function keyOf({ headers }: Service): string {
  return headers.authorization?.replace('Bearer ', '') ?? ''
}

function orderOf(port: number, count: number): MailOrder {
  const mail = mailOf(htmlBytes)
  return {
    ...{ port, connections, count, from: sender, to: mail.to[0]?.email ?? '' },
    ...{ subject: mail.subject ?? '', ...partsOf(mail), prebuilt: true },
  }
}
