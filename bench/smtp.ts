/**
 * The SMTP client alone: prebuilt messages of 5 kB through 16 connections into the sink, against a
 * plain pipelined socket that looks at nothing and nodemailer's pool, one after the other in each
 * run.
 */
import { mailOf, partsOf } from './mail.ts'
import { cpuSeconds } from './measure.ts'
import type { MailOrder } from './nodemailer-main.ts'
import {
  type BenchOrder,
  heading,
  reportRate,
  reportRatios,
  type Sample,
  sampleOf,
} from './report.ts'
import type { Worker } from './worker.ts'

export interface SmtpOrder {
  readonly port: number
  readonly connections: number
  readonly count: number
  readonly from: string
  readonly to: string
  /** With CRLF line ends, the last one included, and no line that begins with a dot. */
  readonly message: string
}

const connections = 16
const htmlBytes = 4500
/** A message is a small part of a mail's way: more of them make a run that can be measured. */
const messagesPerCount = 5

export async function measureSmtp(o: BenchOrder): Promise<void> {
  const count = o.count * messagesPerCount
  heading(
    `SMTP alone, prebuilt messages of 5 kB, ${connections} connections, ${count} messages a run`,
  )
  const sink = await o.startWorker('./sink-main.ts')
  const port = await sink.call<number>('port')
  const senders = {
    bare: await o.startWorker('./smtp-bare-main.ts'),
    ours: await o.startWorker('./smtp-client-main.ts'),
    pool: await o.startWorker('./nodemailer-main.ts'),
  }
  const samples = { bare: [] as Sample[], ours: [] as Sample[], pool: [] as Sample[] }
  for (let run = 0; run <= o.runs; run += 1) {
    for (const name of ['bare', 'ours', 'pool'] as const) {
      const sample = await sendBy(senders[name], sink, name === 'pool', { port, count })
      // The first one warms up.
      if (run > 0) samples[name].push(sample)
    }
  }
  reportRate('a plain pipelined socket', samples.bare)
  reportRate('our client', samples.ours)
  reportRate(`nodemailer's pool`, samples.pool)
  reportRatios('against the plain socket', samples.ours, samples.bare, 'at least 0.60')
  reportRatios(`against nodemailer's pool`, samples.ours, samples.pool)
}

function sendBy(
  sender: Worker,
  sink: Worker,
  isPool: boolean,
  { port, count }: { readonly port: number; readonly count: number },
): Promise<Sample> {
  const clocks = { sender: () => cpuSeconds(sender.pid), sink: () => cpuSeconds(sink.pid) }
  return sampleOf(clocks, async () => {
    await sink.call('clear')
    const order = isPool ? poolOrder(port, count) : smtpOrder(port, count)
    const { elapsedMs } = await sender.call<{ elapsedMs: number }>('send', order)
    const accepted = await sink.call('accepted')
    if (accepted !== count) throw new Error(`${accepted} of ${count} messages arrived`)
    return { units: count, elapsedMs }
  })
}

function poolOrder(port: number, count: number): MailOrder {
  const mail = mailOf(htmlBytes)
  const { from, to, subject } = mail
  return {
    ...{ port, connections, count, subject },
    from: from.email,
    to: to[0]?.email ?? '',
    ...partsOf(mail),
    prebuilt: true,
  }
}

function smtpOrder(port: number, count: number): SmtpOrder {
  const { from, to, subject, html } = poolOrder(port, count)
  const headers = [
    `From: ${from}`,
    `To: ${to}`,
    `Subject: ${subject}`,
    'MIME-Version: 1.0',
    'Content-Type: text/html; charset=utf-8',
  ]
  const message = `${headers.join('\r\n')}\r\n\r\n${html.replaceAll('\n', '\r\n')}`
  return { port, connections, count, from, to, message }
}
