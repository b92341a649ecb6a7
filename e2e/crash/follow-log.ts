/** Reads an NDJSON log while it is being written. */
import { closeSync, openSync, readSync } from 'node:fs'

/** Answers, each time, the facts that were appended since; the first time, all of them. */
export function followLog<Fact>(path: string): () => Fact[] {
  let offset = 0
  let rest = ''
  const block = Buffer.alloc(1 << 20)
  return () => {
    const file = openSync(path, 'r')
    try {
      for (;;) {
        const size = readSync(file, block, 0, block.length, offset)
        if (size === 0) break
        offset += size
        // The logs are ASCII, as JSON.stringify leaves everything else as it is only in strings
        // that the round itself makes, and those are ASCII too.
        rest += block.toString('latin1', 0, size)
      }
    } finally {
      closeSync(file)
    }
    const lines = rest.split('\n')
    rest = lines.pop() ?? ''
    return lines.map((line) => JSON.parse(line) as Fact)
  }
}
