/** 1,000 open event streams in one process: memory, processor time, and how soon an event has come to all. */
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { cpuSeconds, median, residentMib } from './measure.ts'
import { byService, mailsOf, startServiceParts } from './path.ts'
import { type BenchOrder, heading } from './report.ts'

const STREAMS = 1_000
const QUIET_MS = 10_000
const ROUNDS = 10

export async function measureStreams(o: BenchOrder): Promise<void> {
  heading(`${STREAMS} open event streams in one process`)
  const parts = await startServiceParts(o)
  const { receiver, service } = parts
  // As warm as it is in use.
  await byService(2_000, mailsOf(1), parts)
  await pause(3_000)
  const before = residentMib(service.pid)
  const quiet = await processorShare(service.pid)
  const streams = await Promise.all(Array.from({ length: STREAMS }, () => open(service)))
  await pause(3_000)
  const after = residentMib(service.pid)
  const busy = await processorShare(service.pid)
  console.log(`  memory   ${(after - before).toFixed(0)} MiB more (aim: below 100)`)
  console.log(
    `  idle     ${(busy * 100).toFixed(1)} % of a core with streams, ${(quiet * 100).toFixed(1)} % without`,
  )
  const took: number[] = []
  for (let round = 1; round <= ROUNDS; round++) {
    await receiver.call('clear')
    const startedMs = performance.now()
    await byService(1, mailsOf(1), parts)
    while (streams.some(({ events }) => events < round)) await pause(5)
    took.push(performance.now() - startedMs)
  }
  console.log(`  an event has come to all of them ${median(took).toFixed(0)} ms after its mail`)
  const count = 2_000
  await receiver.call('clear')
  const startedMs = performance.now()
  await byService(count, mailsOf(1), parts)
  while (streams.some(({ events, gaps }) => events < ROUNDS + count && gaps === 0)) await pause(20)
  const seconds = (performance.now() - startedMs) / 1_000
  const gaps = streams.reduce((sum, stream) => sum + stream.gaps, 0)
  console.log(
    `  ${count} mails: ${((count * STREAMS) / seconds / 1_000).toFixed(0)} thousand events a second, ${gaps} gaps, ${residentMib(service.pid).toFixed(0)} MiB`,
  )
  for (const { response } of streams) response.destroy()
}

interface Open {
  readonly response: IncomingMessage
  events: number
  gaps: number
}

async function open({
  origin,
  headers,
}: {
  origin: string
  headers: Readonly<Record<string, string>>
}): Promise<Open> {
  const { authorization } = headers
  const request = get(`${origin}/v1/events/stream`, { headers: { authorization }, agent: false })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  if (response.statusCode !== 200) throw new Error(`a stream was refused: ${response.statusCode}`)
  const stream: Open = { response, events: 0, gaps: 0 }
  response.setEncoding('latin1')
  response.on('error', () => undefined)
  response.on('data', (text: string) => {
    stream.events += text.split('\ndata: {"event_id"').length - 1
    stream.gaps += text.split('event: gap').length - 1
  })
  return stream
}

/** Of one core, over a while. */
async function processorShare(pid: number): Promise<number> {
  const before = cpuSeconds(pid)
  await pause(QUIET_MS)
  return (cpuSeconds(pid) - before) / (QUIET_MS / 1_000)
}
