import { Resolver } from 'node:dns/promises'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
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

it('the sink answers webhook requests as configured, and shows their headers', async () => {
  const args = ['--smtp-port', '0', '--http-port', '0', '--webhook-status', '503']
  const sink = await startProcess({ script, args })
  try {
    const line = await sink.waitForLine(/^Webhook receiver/)
    const response = await fetch(line.replace(/^Webhook receiver +/, ''), {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-secret': 'ours', traceparent: '00-a-b-01' },
      body: '{"it":"arrived"}',
    })
    expect(response.status).toBe(503)
    await sink.waitForLine(/arrived/)
    expect(sink.lines).toEqual(
      expect.arrayContaining([
        'content-type: application/json',
        'x-secret: ours',
        'traceparent: 00-a-b-01',
      ]),
    )
    expect(sink.lines.filter((one) => /^(host|content-length):/i.test(one))).toEqual([])
  } finally {
    await sink.kill('SIGTERM')
  }
})

it('the sink defers and refuses recipients by their address', async () => {
  const sink = await startProcess({ script, args: ['--smtp-port', '0', '--http-port', '0'] })
  try {
    const line = await sink.waitForLine(/^SMTP server/)
    const replies = await talk(Number(line.split(':').at(-1)), [
      'EHLO example.com',
      'MAIL FROM:<me@example.com>',
      'RCPT TO:<defer.me@example.com>',
      'RCPT TO:<refuse@example.com>',
      'RCPT TO:<you@example.com>',
      'QUIT',
    ])
    expect(replies.slice(-4).map((reply) => reply.slice(0, 3))).toEqual([
      '450',
      '550',
      '250',
      '221',
    ])
  } finally {
    await sink.kill('SIGTERM')
  }
})

it('the sink has a name server with the configured MX records', async () => {
  const args = ['--smtp-port', '0', '--http-port', '0', '--dns-port', '0']
  const mx = ['--mx', 'in.example.com=mx.example.com', '--mx', 'b.example.com=127.0.0.1']
  const sink = await startProcess({ script, args: [...args, ...mx] })
  try {
    const line = await sink.waitForLine(/^Name server/)
    const resolver = new Resolver({ tries: 1 })
    resolver.setServers([line.replace(/^Name server +/, '')])
    expect(await resolver.resolveMx('in.example.com')).toMatchObject([
      { exchange: 'mx.example.com', priority: 10 },
    ])
    expect(await resolver.resolveMx('b.example.com')).toMatchObject([{ exchange: '127.0.0.1' }])
    await expect(resolver.resolveMx('c.example.com')).rejects.toThrow('ENOTFOUND')
  } finally {
    await sink.kill('SIGTERM')
  }
})

it.each([
  [['--help'], 0, /--webhook-status <status>/],
  [['--webhook-status', '99'], 2, /takes a status/],
  [['--port', '1'], 2, /--port/],
  [['--mx', 'in.example.com'], 2, /takes a domain and a host/],
])('%j ends with %d and explains the use of the sink', async (args, code, words) => {
  const sink = await startProcess({ script, args })
  expect(await sink.exited).toEqual({ code, signal: null })
  expect(sink.lines.join('\n')).toMatch(words)
  expect(sink.lines.join('\n')).toContain('--smtp-port <port>')
})

/** One command after the other; the last line of each reply. */
async function talk(port: number, commands: readonly string[]): Promise<string[]> {
  const socket = connect(port, '127.0.0.1')
  const replies: string[] = []
  try {
    for await (const line of createInterface({ input: socket })) {
      if (line[3] === '-') continue
      replies.push(line)
      const next = commands[replies.length - 1]
      if (next === undefined) break
      socket.write(`${next}\r\n`)
    }
  } finally {
    socket.destroy()
  }
  return replies
}
