/** Resident memory of the service after 50,000 mails against after 5,000. */
import { residentMib } from './measure.ts'
import { byService, mailsOf, startServiceParts } from './path.ts'
import { type BenchOrder, heading, reportRatio } from './report.ts'

const steps = [5000, 10_000, 20_000, 30_000, 40_000, 50_000]

export async function measureMemory(o: BenchOrder): Promise<void> {
  heading('Resident memory of the service, mails of 5 kB')
  const parts = await startServiceParts(o)
  const { receiver, service } = parts
  const after: number[] = []
  let sent = 0
  for (const total of steps) {
    // In portions: the figure is that of steady work, not of a backlog.
    while (sent < total) {
      const count = Math.min(2500, total - sent)
      await receiver.call('clear')
      await byService(count, mailsOf(1), parts)
      sent += count
    }
    after.push(residentMib(service.pid))
    console.log(
      `  after ${String(total).padStart(6)} mails ${after.at(-1)?.toFixed(0).padStart(6)} MiB`,
    )
  }
  reportRatio('50,000 against 5,000', (after.at(-1) ?? 0) / (after[0] ?? 1), 'at most 1.10')
}
