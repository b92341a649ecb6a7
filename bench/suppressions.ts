/**
 * A file of --suppressions lines imported over HTTP: lines a second, and what the process holds more of memory
 * meanwhile; the same file again, when every address is known; its export; and what another tenant's sends
 * wait while a file is imported.
 */
import { operations } from '@postrider/contract'
import { request } from 'undici'
import type { LoadResult } from './load-main.ts'
import { mailOf } from './mail.ts'
import { residentMib } from './measure.ts'
import { type BenchOrder, heading } from './report.ts'
import { startService } from './service.ts'
import { setUpTenant } from './set-up.ts'

const CALLERS = 8
const WATCH_MS = 100
const WARM_LINES = 50_000

export async function measureSuppressions(o: BenchOrder): Promise<void> {
  heading(`Importing ${o.suppressions} suppressions from one file`)
  const sink = await o.startWorker('./sink-main.ts')
  const receiver = await o.startWorker('./receiver-main.ts')
  const load = await o.startWorker('./load-main.ts')
  const receiverPort = await receiver.call<number>('port')
  const service = await startService({
    ...{ roles: 'api', sinkPort: await sink.call('port'), receiverPort },
    ...{ connections: 16, logLevel: o.logLevel },
  })
  o.stopAtEnd(() => service.stop())
  const { headers } = await setUpTenant(service.origin, {
    ...{ name: 'importer', sender: 'news@example.com' },
    hookUrl: `http://127.0.0.1:${receiverPort}/events`,
  })
  const file = fileOf(o.suppressions)
  const send = async (durationMs: number) => {
    const order = { path: operations.sendEmail.path, headers: service.headers, callers: CALLERS }
    const bodies = [JSON.stringify(mailOf(600))]
    const { p50Ms, p99Ms } = await load.call<LoadResult>('post', {
      ...{ ...order, bodies, durationMs, origin: service.origin },
    })
    return `p50/p99 ${p50Ms.toFixed(1)}/${p99Ms.toFixed(1)} ms`
  }
  // Its code is compiled, and the memory that it needs at all is had.
  await post(service.origin, headers, fileOf(WARM_LINES, 'warm'))
  await send(2_000)
  const quiet = await send(o.seconds * 1000)
  const first = await watched(service.pid, () => post(service.origin, headers, file))
  report('new addresses', o.suppressions, first)
  report(
    'known addresses',
    o.suppressions,
    await watched(service.pid, () => post(service.origin, headers, file)),
  )
  report(
    'exported',
    o.suppressions,
    await watched(service.pid, () => takeExport(service.origin, headers)),
  )
  console.log(`  another tenant's sends alone          ${quiet}`)
  const [during] = await Promise.all([send(o.seconds * 1000), post(service.origin, headers, file)])
  console.log(`  another tenant's sends beside it      ${during}`)
}

function fileOf(lines: number, name = 'recipient'): Buffer {
  const all = Array.from(
    { length: lines },
    (_, i) => `${(i * 7919) % lines}.${name}@d${i % 97}.example.com,bounced\n`,
  )
  return Buffer.from(`email,reason\n${all.join('')}`)
}

async function post(
  origin: string,
  headers: Readonly<Record<string, string>>,
  body: Buffer,
): Promise<string> {
  const { method, path } = operations.importSuppressions
  const answer = await request(origin + path, {
    ...{ method, body, headersTimeout: 0 },
    headers: { ...headers, 'content-type': 'text/csv' },
  })
  const text = await answer.body.text()
  if (answer.statusCode !== 200) throw new Error(`${answer.statusCode} ${text}`)
  const { added, known, refused_count: refused } = JSON.parse(text) as Record<string, number>
  return `${added} added, ${known} known, ${refused} refused`
}

async function takeExport(
  origin: string,
  headers: Readonly<Record<string, string>>,
): Promise<string> {
  const { method, path } = operations.exportSuppressions
  const answer = await request(origin + path, { method, headers })
  let bytes = 0
  for await (const piece of answer.body) bytes += (piece as Buffer).length
  return `${(bytes / 1e6).toFixed(0)} MB`
}

interface Watched {
  readonly said: string
  readonly seconds: number
  readonly fromMib: number
  readonly mostMib: number
}

async function watched(pid: number, work: () => Promise<string>): Promise<Watched> {
  const fromMib = residentMib(pid)
  let mostMib = fromMib
  const watch = setInterval(() => {
    mostMib = Math.max(mostMib, residentMib(pid))
  }, WATCH_MS)
  const startedMs = performance.now()
  try {
    const said = await work()
    return { said, fromMib, mostMib, seconds: (performance.now() - startedMs) / 1000 }
  } finally {
    clearInterval(watch)
  }
}

function report(name: string, lines: number, { said, seconds, fromMib, mostMib }: Watched): void {
  const rate = Math.round(lines / seconds)
  console.log(
    `  ${name.padEnd(20)} ${seconds.toFixed(1).padStart(6)} s  ${String(rate).padStart(7)}/s  memory ${fromMib.toFixed(0)} to ${mostMib.toFixed(0)} MiB (+${(mostMib - fromMib).toFixed(0)})  ${said}`,
  )
}
