/**
 * What could make a server see two messages where there is one: no form of it leaves, and what looks
 * like one and is not arrives as it is.
 */
import { createServer, type Socket } from 'node:net'
import { createSmtpServer } from '@postrider/testkit'
import { describe, expect, it } from 'vitest'
import { mail, openTo } from '../../test/smtp-loopback.ts'
import { smuggled, smugglers } from '../../test/smugglers.ts'

describe('a message that hides another', () => {
  it.each(smugglers)('is not sent to its end: %j', async (sequence) => {
    const server = await createSmtpServer()
    const session = await openTo(server.port)
    const message = Buffer.from(`Subject: one\r\n\r\nbody${sequence}${smuggled}`, 'latin1')
    expect(await session.send(mail({ message }))).toMatchObject({
      kind: 'failed',
      phase: 'before-dot',
      failure: { stage: 'data', systemCode: 'EMESSAGE' },
      sessionUsable: false,
    })
    expect(server.transactions).toHaveLength(0)
    session.close()
    await server.close()
  })

  it.each(['body\r', 'body\r\r\n', 'body\n', '\r', '\n', 'body\r\n\r'])(
    'is not sent when half of a hidden end stands at its end: %j',
    async (body) => {
      const server = await createSmtpServer()
      const session = await openTo(server.port)
      const message = Buffer.from(`Subject: one\r\n\r\n${body}`)
      expect(await session.send(mail({ message }))).toMatchObject({
        phase: 'before-dot',
        failure: { systemCode: 'EMESSAGE' },
      })
      expect(server.transactions).toHaveLength(0)
      session.close()
      await server.close()
    },
  )

  it('arrives as one when it only looks like two', async () => {
    const server = await createSmtpServer()
    const session = await openTo(server.port)
    const looks = ['\r\n.\r\n', '\r\n..\r\n', '\r\n.\r\n.\r\n', '\r\n. \r\n', '\r\n.\t\r\n']
    for (const sequence of looks) {
      const message = Buffer.from(`Subject: one\r\n\r\nbody${sequence}${smuggled}`)
      expect((await session.send(mail({ message }))).kind).toBe('accepted')
      expect(server.messages.at(-1)?.raw.toString()).toBe(message.toString())
    }
    expect(server.messages).toHaveLength(looks.length)
    expect(server.messages.every(({ recipients }) => recipients.length === 1)).toBe(true)
    session.close()
    await server.close()
  })

  it('is cut exactly where it shows, in chunks of any size', async () => {
    let received = ''
    const sockets = new Set<Socket>()
    const listening = createServer((socket) => {
      sockets.add(socket)
      socket.on('error', () => socket.destroy())
      socket.write('220 hi\r\n')
      socket.on('data', (chunk) => {
        const text = chunk.toString('latin1')
        received += text
        if (/^(EHLO|MAIL|RCPT)/.test(text)) socket.write('250 ok\r\n')
        else if (/^DATA/.test(text)) socket.write('354 go\r\n')
      })
    })
    await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve))
    const address = listening.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const line = 'x'.repeat(998)
    // Around the seam of two chunks.
    for (const offset of [-3, -2, -1, 0, 1, 2]) {
      const head = 'Subject: one\r\n\r\n'
      const filler = `${line}\r\n`.repeat(66)
      const start = `${head}${filler}`.slice(0, 65_536 + offset)
      const session = await openTo(port)
      const message = Buffer.from(`${start}\n.\r\n${smuggled}`)
      await session.send(mail({ message }))
      session.close()
    }
    expect(received).toContain(line)
    expect(received).not.toContain('\n.\r\n')
    expect(received).not.toContain('evil@example.com')
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => listening.close(resolve))
  })
})
