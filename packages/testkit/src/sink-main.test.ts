import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { createSmtpServer } from './smtp-server.ts'
import { startProcess } from './start-process.ts'

const script = fileURLToPath(new URL('sink-main.ts', import.meta.url))

it.each([
  ['--smtp-port', '--http-port'],
  ['--http-port', '--smtp-port'],
])('the sink names %s when its port is in use, in one line', async (option, other) => {
  const holder = await createSmtpServer({})
  try {
    const sink = await startProcess({ script, args: [option, String(holder.port), other, '0'] })
    expect(await sink.exited).toEqual({ code: 1, signal: null })
    expect(sink.lines).toHaveLength(1)
    expect(sink.lines[0]).toContain(`cannot use port ${holder.port}`)
    expect(sink.lines[0]).toContain(`choose another: ${option}`)
  } finally {
    await holder.close()
  }
})
