/** When a copy that belongs in a Sent folder is tried again, and for how long. */
import type { SentCopy } from '../../sending/index.ts'

/** After the first try, the second …; then it is given up. Two days in all. */
const WAITS_MS = [60, 300, 1_800, 7_200, 21_600, 43_200, 86_400].map((s) => s * 1_000)

/** After a try that came to nothing; undefined: it is given up. */
export function nextTryMs({ tries }: Pick<SentCopy, 'tries'>): number | undefined {
  return WAITS_MS[tries - 1]
}

/** The process that claimed it for its last try died during that try. */
export function isSpent({ tries }: Pick<SentCopy, 'tries'>): boolean {
  return tries > WAITS_MS.length + 1
}
