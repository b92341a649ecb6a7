/** What the published service takes while nothing happens: memory, and how long a start takes. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { buildPostrider } from '../release/npm/build-postrider.ts'
import { cpuSeconds, treeOf } from './measure.ts'
import { type BenchOrder, heading } from './report.ts'
import { startServiceProcess } from './service-process.ts'

const AT_REST_AFTER_MS = 6_000
/** Below the packages of this repository, so that it finds its PostgreSQL. */
const folder = fileURLToPath(new URL('../node_modules/.cache/postrider-bench/', import.meta.url))

/** The dashboard must have been built. */
export async function measureIdle(o: Pick<BenchOrder, 'runs' | 'stopAtEnd'>): Promise<void> {
  heading('The published service at rest, 6 s after a restart')
  const dataDir = mkdtempSync(join(tmpdir(), 'postrider-bench-'))
  o.stopAtEnd(() => rmSync(dataDir, { recursive: true, force: true }))
  await buildPostrider(folder)
  for (let run = 0; run <= o.runs; run += 1) {
    const startedAt = performance.now()
    const service = await startServiceProcess({
      program: join(folder, 'bin/postrider.cjs'),
      logFile: join(dataDir, 'service.log'),
      env: { DATA_DIR: dataDir },
    })
    const readyMs = performance.now() - startedAt
    const cpuMs = cpuSeconds(service.pid) * 1_000
    await delay(AT_REST_AFTER_MS)
    const [own = 0, ...database] = treeOf(service.pid).map(sharedMib)
    const databaseMib = database.reduce((sum, one) => sum + one, 0)
    await service.stop()
    // The first start makes the database.
    if (run === 0) continue
    console.log(
      `  ready after ${readyMs.toFixed(0)} ms and ${cpuMs.toFixed(0)} ms of CPU; service ${own.toFixed(0)} MiB, PostgreSQL ${databaseMib.toFixed(0)} MiB`,
    )
  }
}

/** Memory of a process, with its share of what it has in common with others. */
function sharedMib(pid: number): number {
  try {
    const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1')
    return Number(/^Pss:\s+(\d+)/m.exec(text)?.[1] ?? 0) / 1024
  } catch {
    // It has ended meanwhile.
    return 0
  }
}
