/**
 * An append-only log of facts, one JSON object per line, written with one synchronous `write` each:
 * what was logged before a kill of this process is in the file, and no line is torn by it.
 */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'

export interface NdjsonLog {
  append(entry: object): void
  close(): void
}

/** Every entry gets `at`, the milliseconds since the epoch by this machine's clock. */
export function openNdjsonLog(path: string): NdjsonLog {
  const file = openSync(path, 'a')
  return {
    append: (entry) => {
      writeSync(file, `${JSON.stringify({ at: Date.now(), ...entry })}\n`)
    },
    close: () => closeSync(file),
  }
}

export function readNdjson(path: string): unknown[] {
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown)
}
