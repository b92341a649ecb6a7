import { createServer, type Server, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { connectTo, mail, openTo } from '../../test/smtp-loopback.ts'
import { type Dialogue, type Input, say } from './dialogue.ts'
import { createWire } from './wire.ts'

let server: Server | undefined
const sockets = new Set<Socket>()
afterEach(async () => {
  for (const socket of sockets) socket.destroy()
  await new Promise((resolve) => (server === undefined ? resolve(0) : server.close(resolve)))
  server = undefined
  sockets.clear()
})

async function listen(onSocket: (socket: Socket) => void): Promise<number> {
  const listening = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    onSocket(socket)
  })
  server = listening
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve))
  const address = listening.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

const wireTo = async (port: number) =>
  createWire(await connectTo(port)({ timeoutMs: 1_000, signal: new AbortController().signal }))

/** Waits so many times, each so long at most; answers what came. */
function* wait(times: number, timeoutMs: number): Dialogue<readonly Input[]> {
  const heard: Input[] = []
  for (let i = 0; i < times; i += 1) {
    const input = yield { ...say('greeting'), timeoutMs }
    heard.push(input)
    if (typeof input === 'object' && 'systemCode' in input) break
  }
  return heard
}

const far = () => ({ deadlineAt: performance.now() + 600_000, timeoutMessage: 'too late' })

describe('a wait for the server', () => {
  it('ends with its step, however late the total deadline is', async () => {
    const wire = await wireTo(await listen(() => undefined))
    expect(await wire.run(wait(1, 50), far())).toEqual([
      { systemCode: 'ETIMEDOUT', message: 'too late' },
    ])
    expect(wire.isAlive).toBe(false)
  })

  it('has its own time after each reply', async () => {
    const port = await listen((socket) => {
      let left = 4
      const timer = setInterval(() => {
        socket.write('250 still here\r\n')
        left -= 1
        if (left === 0) clearInterval(timer)
      }, 100)
      socket.once('close', () => clearInterval(timer))
    })
    const wire = await wireTo(port)
    const heard = await wire.run(wait(5, 300), far())
    expect(heard.map((one) => (typeof one === 'object' && 'code' in one ? one.code : 0))).toEqual([
      250, 250, 250, 250, 0,
    ])
  })

  it('ends with the total deadline, however long its step may take', async () => {
    const wire = await wireTo(await listen(() => undefined))
    const o = { deadlineAt: performance.now() + 50, timeoutMessage: 'too late' }
    expect(await wire.run(wait(1, 600_000), o)).toMatchObject([{ systemCode: 'ETIMEDOUT' }])
  })

  it('ends at once on a closed connection', async () => {
    const wire = await wireTo(await listen(() => undefined))
    const waiting = wire.run(wait(1, 600_000), far())
    wire.destroy()
    expect(await waiting).toMatchObject([{ systemCode: 'ECONNECTION' }])
    expect(await wire.run(wait(1, 600_000), far())).toMatchObject([{ systemCode: 'ECONNECTION' }])
  })
})

describe('a server that sends data unasked', () => {
  const answers = (socket: Socket, text: string, atDot: string) => {
    if (/^(EHLO|MAIL|RCPT)/.test(text)) socket.write('250 ok\r\n')
    else if (text.startsWith('DATA')) socket.write('354 go\r\n')
    else if (text.endsWith('\r\n.\r\n')) socket.write(atDot)
  }
  async function start(atDot: string) {
    let said = ''
    const port = await listen((socket) => {
      socket.write('220 hi\r\n')
      socket.on('data', (chunk) => {
        said += chunk.toString('latin1')
        answers(socket, chunk.toString('latin1'), atDot)
      })
    })
    return { session: await openTo(port), said: () => said }
  }

  it.each(['250 ok\r\n250 and again\r\n', '250 ok\r\n421 4.4.2 idle\r\n', '250 ok\r\n2'])(
    'a server that sends data unasked, behind an answer, is not read any more: %j',
    async (atDot) => {
      const { session, said } = await start(atDot)
      expect((await session.send(mail())).kind).toBe('accepted')
      expect(session.isUsable).toBe(false)
      expect(await session.send(mail())).toMatchObject({ phase: 'before-dot', isStale: true })
      expect(said().match(/MAIL FROM/g)).toHaveLength(1)
    },
  )

  it('is not read any more later on', async () => {
    const { session, said } = await start('250 ok\r\n')
    expect((await session.send(mail())).kind).toBe('accepted')
    expect(session.isUsable).toBe(true)
    for (const socket of sockets) socket.write('421 4.4.2 idle for too long\r\n')
    await expect.poll(() => session.isUsable).toBe(false)
    expect(await session.send(mail())).toMatchObject({ phase: 'before-dot', isStale: true })
    expect(said().match(/MAIL FROM/g)).toHaveLength(1)
  })
})
