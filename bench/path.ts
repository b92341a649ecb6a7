/**
 * The main job: accepted over HTTP, taken by the SMTP sink, event stored, webhook delivered; against
 * nodemailer's pool and Postfix into the same sink, with mails of the same size.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { operations } from '@postrider/contract'
import { findFreePort } from '@postrider/testkit'
import { mailOf } from './mail.ts'
import { cpuSeconds, treeCpuSeconds } from './measure.ts'
import type { MailOrder } from './nodemailer-main.ts'
import { postfixHindrance, startPostfix } from './postfix.ts'
import {
  type BenchOrder,
  heading,
  reportRate,
  reportRatio,
  type Sample,
  sampleOf,
} from './report.ts'
import { type Service, startService } from './service.ts'
import { startWorker, type Worker } from './worker.ts'

const connections = 16
const timeoutMs = 180_000
const htmlBytes = 4500

interface Parts {
  readonly sink: Worker
  readonly receiver: Worker
  readonly load: Worker
  readonly mailer: Worker
}

export async function measurePath(o: BenchOrder): Promise<void> {
  heading(
    `Accept -> SMTP -> event -> webhook, mails of 5 kB, ${connections} connections, ${o.count} mails a run`,
  )
  const parts: Parts = {
    sink: await startWorker('./sink-main.ts'),
    receiver: await startWorker('./receiver-main.ts'),
    load: await startWorker('./load-main.ts'),
    mailer: await startWorker('./nodemailer-main.ts'),
  }
  try {
    const peerRate = reportRate(
      `nodemailer's pool alone`,
      await repeat(o.runs, o.count, parts, byNodemailer),
    )
    const postfixRate = await measurePostfix(o, parts)
    const service = await startService({
      roles: 'all',
      sinkPort: await parts.sink.call('port'),
      receiverPort: await parts.receiver.call('port'),
      connections,
      logLevel: o.logLevel,
    })
    try {
      const samples = await repeat(o.runs, o.count, parts, (count) =>
        byService(count, parts, service),
      )
      const rate = reportRate('the service', samples)
      const counts = await parts.receiver.call<Record<string, number>>('counts')
      console.log(`  ${''.padEnd(34)} last run at the receiver: ${JSON.stringify(counts)}`)
      reportRatio(`against nodemailer's pool`, rate / peerRate, 'at least 0.50')
      if (postfixRate !== undefined) reportRatio('against Postfix', rate / postfixRate, 'above 1')
    } finally {
      await service.stop()
    }
  } finally {
    for (const worker of Object.values(parts)) await worker.stop()
  }
}

async function measurePostfix(o: BenchOrder, parts: Parts): Promise<number | undefined> {
  const hindrance = postfixHindrance()
  if (hindrance !== undefined) {
    console.log(`  ${'Postfix'.padEnd(34)} ${hindrance}`)
    return undefined
  }
  const dir = mkdtempSync(join(tmpdir(), 'postrider-bench-postfix-'))
  const relayPort = await parts.sink.call<number>('port')
  const postfix = startPostfix({ dir, port: await findFreePort(), relayPort })
  try {
    const count = Math.ceil(o.count / 2)
    const samples = await repeat(o.runs, count, parts, (units) =>
      sampleOf({ postfix: () => treeCpuSeconds(postfix.masterPid) }, async () => {
        const startedAt = performance.now()
        await parts.mailer.call('send', mailOrder(postfix.port, units, true))
        await parts.sink.call('waitFor', { count: units, timeoutMs })
        return { units, elapsedMs: performance.now() - startedAt }
      }),
    )
    return reportRate('Postfix, accept-queue-deliver', samples)
  } finally {
    postfix.stop()
    rmSync(dir, { recursive: true, force: true })
  }
}

/** One run to warm up, then so many that count. */
async function repeat(
  runs: number,
  count: number,
  parts: Parts,
  run: (count: number, parts: Parts) => Promise<Sample>,
): Promise<Sample[]> {
  const samples: Sample[] = []
  for (let i = 0; i <= runs; i += 1) {
    await parts.sink.call('clear')
    await parts.receiver.call('clear')
    const sample = await run(i === 0 ? Math.ceil(count / 4) : count, parts)
    if (i > 0) samples.push(sample)
  }
  return samples
}

function byNodemailer(count: number, { mailer, sink }: Parts): Promise<Sample> {
  return sampleOf({ nodemailer: () => cpuSeconds(mailer.pid) }, async () => {
    const port = await sink.call<number>('port')
    const startedAt = performance.now()
    await mailer.call('send', mailOrder(port, count, false))
    return { units: count, elapsedMs: performance.now() - startedAt }
  })
}

function mailOrder(port: number, count: number, prebuilt: boolean): MailOrder {
  const { from, to, subject, content } = mailOf(htmlBytes)
  return {
    port,
    connections,
    count,
    from: from.email,
    to: to[0]?.email ?? '',
    subject,
    html: content[0]?.value ?? '',
    prebuilt,
  }
}

export function byService(
  count: number,
  { load, receiver, sink }: Pick<Parts, 'load' | 'receiver' | 'sink'>,
  service: Service,
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
      body: JSON.stringify(mailOf(htmlBytes)),
      callers: 64,
      count,
    })
    const delivered = receiver.call('waitFor', { count, timeoutMs })
    const [{ statuses }] = await Promise.all([posted, delivered])
    if (statuses['202'] !== count) throw new Error(`answers: ${JSON.stringify(statuses)}`)
    return { units: count, elapsedMs: performance.now() - startedAt }
  })
}
