/**
 * What `postrider doctor` finds of opens and clicks that are on this disk and not yet in the database
 * (tracking/spool/hit-spool.ts).
 */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describeDuration } from '../platform/values/duration.ts'
import { REFUSED, TAKEN, UNREADABLE, WRITTEN } from '../tracking/index.ts'
import type { Finding } from './examine-work.ts'

/** A tracker looks every minute for what others have left. */
const WAITING_MS_MAX = 5 * 60_000

export async function examineHits(dataDir: string, nowMs: number): Promise<Finding> {
  const check = 'hits'
  const dir = join(dataDir, 'hits')
  const names = await readNames(dir)
  const aside = names.filter((name) => name.endsWith(REFUSED) || name.endsWith(UNREADABLE))
  const waiting = names.filter((name) => name.endsWith(WRITTEN) || name.endsWith(TAKEN))
  const found = await Promise.all(
    waiting.map((name) => stat(join(dir, name)).catch(() => undefined)),
  )
  // One that is gone meanwhile has been recorded.
  const files = found.filter((file) => file !== undefined)
  const waitedMs = nowMs - Math.min(nowMs, ...files.map(({ mtimeMs }) => mtimeMs))
  const bytes = files.reduce((sum, { size }) => sum + size, 0)
  const late =
    waitedMs > WAITING_MS_MAX
      ? `${files.length} ${files.length === 1 ? 'file' : 'files'} of opens and clicks (${Math.ceil(bytes / 1024)} KiB) in ${dir} wait to be recorded, the oldest for ${describeDuration(waitedMs)}: a process with the role tracker and this POSTRIDER_DATA_DIR records them, once it has the database`
      : undefined
  const set =
    aside.length > 0
      ? `opens and clicks in ${dir} could not be recorded (${aside.join(', ')}): look at them, then remove them`
      : undefined
  const problems = [late, set].filter((text) => text !== undefined)
  if (problems.length > 0) return { check, state: 'warning', detail: problems.join('; ') }
  return { check, state: 'ok', detail: files.length === 0 ? 'none wait' : 'being recorded' }
}

async function readNames(dir: string): Promise<string[]> {
  try {
    return (await readdir(dir)).sort()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
