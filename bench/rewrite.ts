/**
 * Tracking: finding links and writing them over in newsletters of 20, 60 and 100 kB, against the
 * tokenizer alone; and tracked mail against untracked over the whole path, with a newsletter of 20 kB
 * to one recipient, which has to be prepared anew for each.
 */
import type { SendEmailBody } from '@postrider/contract'
import { mailOf } from './mail.ts'
import { median } from './measure.ts'
import { newsletterOf } from './newsletter.ts'
import { byService } from './path.ts'
import {
  type BenchOrder,
  heading,
  reportRate,
  reportRatio,
  reportRatios,
  type Sample,
} from './report.ts'
import type { RewriteTimes } from './rewrite-main.ts'
import { startService } from './service.ts'

const kilobytes = [20, 60, 100]
const connections = 16

export async function measureRewrite(o: BenchOrder): Promise<void> {
  await measureAlone(o)
  await measurePath(o)
}

async function measureAlone(o: BenchOrder): Promise<void> {
  const worker = await o.startWorker('./rewrite-main.ts')
  for (const kB of kilobytes) {
    const runs: RewriteTimes[] = []
    for (let run = 0; run < o.runs; run += 1)
      runs.push(await worker.call<RewriteTimes>('measure', kB * 1_000))
    const of = (name: keyof RewriteTimes) => median(runs.map((times) => times[name]))
    heading(`Newsletter of ${kB} kB, ${of('links')} links: microseconds for one`)
    const mbPerSecond = (name: keyof RewriteTimes) => `${((kB * 1_000) / of(name)).toFixed(0)} MB/s`
    const show = (what: string, name: keyof RewriteTimes, note = '') =>
      console.log(`  ${what.padEnd(34)} ${of(name).toFixed(0).padStart(7)}    ${note}`)
    show('the tokenizer alone', 'tokenizer', mbPerSecond('tokenizer'))
    show('finding the places', 'find', mbPerSecond('find'))
    show('splicing', 'splice', mbPerSecond('splice'))
    show('preparing a message', 'prepare')
    show('preparing a tracked one', 'prepareTracked')
    show('composing a copy', 'compose')
    show('composing a tracked one', 'composeTracked')
    show('its URLs', 'tokens')
    const ratios = runs.map(({ tokenizer, find }) => tokenizer / find)
    const all = ratios.map((ratio) => ratio.toFixed(2)).join(', ')
    reportRatio('finding against the tokenizer', median(ratios), `${all}; at least 0.70`)
  }
}

async function measurePath(o: BenchOrder): Promise<void> {
  heading(`Accept -> SMTP -> event -> webhook, newsletters of 20 kB, ${o.count} mails a run`)
  const sink = await o.startWorker('./sink-main.ts')
  const receiver = await o.startWorker('./receiver-main.ts')
  const load = await o.startWorker('./load-main.ts')
  const service = await startService({
    roles: 'all',
    sinkPort: await sink.call<number>('port'),
    receiverPort: await receiver.call('port'),
    connections,
    logLevel: o.logLevel,
    profileDir: o.profileDir,
  })
  o.stopAtEnd(() => service.stop())
  const untracked = {
    ...mailOf(0),
    content: [{ type: 'text/html' as const, value: newsletterOf(20_000) }],
  }
  const tracked = {
    ...untracked,
    settings: { open_tracking: true, click_tracking: true, unsubscribe: true },
  }
  const without: Sample[] = []
  const withIt: Sample[] = []
  const send = async (body: SendEmailBody, count: number) => {
    await sink.call('clear')
    await receiver.call('clear')
    return await byService(count, [body], { load, receiver, sink, service })
  }
  for (let run = 0; run <= o.runs; run += 1) {
    const count = run === 0 ? Math.ceil(o.count / 4) : o.count
    const samples = [await send(untracked, count), await send(tracked, count)] as const
    if (run === 0) continue
    without.push(samples[0])
    withIt.push(samples[1])
  }
  reportRate('untracked', without)
  reportRate('tracked', withIt)
  reportRatios('tracked against untracked', withIt, without)
}
