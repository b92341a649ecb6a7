/** What peers cannot take more of than is theirs, and how they are told. */
import { connect } from 'node:net'
import { createRawClient, type RawClient } from '@postrider/testkit'
import { describe, expect, it } from 'vitest'
import { listenerLimits } from '../../platform/smtp-server/limits.ts'
import { sendData, useListeners } from './listener.fixture.ts'

const start = useListeners()

const MESSAGE = 'Subject: one\r\n\r\nHello\r\n'

describe('the size of a message', () => {
  it('is refused where it is declared at MAIL', async () => {
    const { open } = await start({ bytesMax: 1_000 })
    const client = await open()
    expect(await client.ask('MAIL FROM:<ada@sender.test> SIZE=1001')).toMatch(/^552 5\.3\.4 /)
    expect(await client.ask('MAIL FROM:<ada@sender.test> SIZE=1000')).toMatch(/^250 /)
  })

  it.each([
    ['as it is', 'x'.repeat(150)],
    ['with its bare line ends made whole', '\n'.repeat(45)],
  ])('is refused at the end of the message, %s, and its memory is freed', async (_what, text) => {
    const { openFor, stored, metrics } = await start({ bytesMax: 100 })
    const client = await openFor('a@routed.test')
    expect(await sendData(client, `Subject: one\r\n\r\n${text}`)).toMatch(/^552 5\.3\.4 /)
    expect(stored).toEqual([])
    expect(await metrics()).toContain('{outcome="too_large"} 1')
    expect(await metrics()).toContain('{what="bytes_in_transit"} 0')
    await client.ask('MAIL FROM:<ada@sender.test>')
    await client.ask('RCPT TO:<a@routed.test>')
    expect(await sendData(client, MESSAGE)).toMatch(/^250 /)
  })

  it('[I2] ends the connection of a peer that sends far beyond it', async () => {
    const { openFor } = await start({ bytesMax: 1_000 })
    const client = await openFor('a@routed.test')
    await client.ask('DATA')
    client.send('x'.repeat(5_000))
    expect(await client.see(/\r\n/)).toMatch(/^552 5\.3\.4 /)
    await client.end()
  })

  it('bounds the work of many large messages', async () => {
    const { openFor, stored } = await start({ bytesMax: 8 * 1024 * 1024 })
    const text = `Subject: large\r\n\r\n${'x'.repeat(6_000_000)}\r\n`
    const large = await Promise.all(
      Array.from({ length: 8 }, async () => {
        const client = await openFor('a@routed.test')
        await client.ask('DATA')
        return client
      }),
    )
    let answered = 0
    const answers = large.map(async (client) => {
      client.send(text)
      client.send('.\r\n')
      expect(await client.see(/\r\n/)).toMatch(/^250 /)
      answered += 1
    })
    const small = await openFor('b@other.test')
    expect(await sendData(small, MESSAGE)).toMatch(/^250 /)
    // Those that came before it wait for their turns.
    expect(answered).toBe(0)
    await Promise.all(answers)
    expect(stored.filter(({ raw }) => raw.length > 6_000_000)).toHaveLength(8)
  })

  it('bounds the work of millions of lines that begin with a dot', async () => {
    const { openFor, metrics } = await start({ bytesMax: 8 * 1024 * 1024 })
    const client = await openFor('a@routed.test')
    await client.ask('DATA')
    client.send('..\r\n'.repeat(300_000))
    expect(await client.see(/\r\n/)).toMatch(/^554 5\.6\.0 /)
    await client.end()
    expect(await metrics()).toContain('{outcome="malformed"} 1')
    client.close()
    await expect.poll(metrics).toContain('{what="connections"} 0')
    expect(await metrics()).toContain('{what="bytes_in_transit"} 0')
  })

  it('is bounded over all messages under way, with half of the bound for one address', async () => {
    const limits = { bytesInTransitMax: 256 * 1024 }
    const { openFor, open, metrics, stored } = await start({ limits })
    const first = await openFor('a@routed.test')
    await first.ask('DATA')
    first.send('x'.repeat(60_000))
    await expect.poll(metrics).toContain('{what="bytes_in_transit"} 65536')
    const second = await openFor('a@routed.test')
    expect(await sendData(second, 'y'.repeat(80_000))).toMatch(/^452 4\.3\.1 /)
    const third = await open()
    expect(await third.ask('MAIL FROM:<ada@sender.test> SIZE=80000')).toMatch(/^452 4\.3\.1 /)
    first.send('\r\n.\r\n')
    expect(await first.see(/\r\n/)).toMatch(/^250 /)
    expect(await third.ask('MAIL FROM:<ada@sender.test> SIZE=80000')).toMatch(/^250 /)
    expect(stored.length).toBe(1)
    await expect.poll(metrics).toContain('{what="bytes_in_transit"} 0')
  })

  it('is left to a third address, whatever two others have under way', async () => {
    const { open, metrics } = await start({ limits: { bytesInTransitMax: 1024 * 1024 } })
    const begin = async (from: string) => {
      const client = await open(from)
      expect(await client.ask('MAIL FROM:<ada@sender.test>')).toMatch(/^250 /)
      await client.ask('RCPT TO:<a@routed.test>')
      await client.ask('DATA')
      return client
    }
    // Messages that do not end, each with 32 KiB, until their address may have no more.
    for (const [from, bytes] of [
      ['127.0.0.2', 524_288],
      ['127.0.0.3', 786_432],
    ] as const) {
      for (let i = 0; i < 20; i++) (await begin(from)).send('x'.repeat(20_000))
      await expect.poll(metrics).toContain(`{what="bytes_in_transit"} ${bytes}`)
    }
    const third = await open('127.0.0.4')
    expect(await third.ask('MAIL FROM:<ada@sender.test> SIZE=60000')).toMatch(/^250 /)
    await third.ask('RCPT TO:<a@routed.test>')
    expect(await sendData(third, 'y'.repeat(60_000))).toMatch(/^250 /)
    await expect.poll(metrics).toContain('{what="bytes_in_transit"} 786432')
  })
})

describe('the number of recipients', () => {
  it('defers recipients beyond the maximum, and accepts those before', async () => {
    const { openFor, stored } = await start({ recipientsMax: 2 })
    const client = await openFor('a@routed.test', 'b@routed.test')
    expect(await client.ask('RCPT TO:<c@routed.test>')).toMatch(/^452 4\.5\.3 /)
    await sendData(client, MESSAGE)
    expect(stored[0]?.envelope.to).toEqual(['a@routed.test', 'b@routed.test'])
  })

  it('ends the connection of a peer that guesses addresses', async () => {
    const { openFor } = await start({ limits: { refusedRecipientsMax: 5 } })
    const client = await openFor()
    for (let i = 0; i < 6; i++)
      expect(await client.ask(`RCPT TO:<nobody${i}@routed.test>`)).toMatch(/^550 /)
    expect(await client.ask('RCPT TO:<a@routed.test>')).toMatch(/^421 4\.7\.1 /)
    await client.end()
  })

  it('[I2] is bounded in memory: 20,000 recipients at once are answered', async () => {
    const { openFor, stored } = await start({ limits: { workMicrosBurst: 10_000_000 } })
    const client = await openFor()
    const all = Array.from({ length: 20_000 }, (_, i) => `RCPT TO:<u${i}@routed.test>\r\n`)
    client.send(`${all.join('')}VRFY\r\n`)
    const text = await client.see(/^501 .*\r\n/m)
    expect(text.match(/^250 /gm)?.length).toBe(100)
    expect(text.match(/^452 4\.5\.3 /gm)?.length).toBe(19_900)
    expect(stored).toEqual([])
  })
})

describe('the work of a connection', () => {
  // A recipient that is looked up is worth five commands.
  const floods: [what: string, flood: string, answersMax: number][] = [
    ['commands', 'NOOP\r\n'.repeat(200), 40],
    ['recipients', 'RCPT TO:<a@routed.test>\r\n'.repeat(200), 8],
  ]
  it.each(floods)('[I12] is limited: %s', async (_, flood, answersMax) => {
    const { openFor, log, metrics } = await start({
      limits: {
        workMicrosBurst: 2_000,
        workMicrosPerSecond: 1,
        idleCommandsMax: 1_000,
        badCommandsMax: 1_000,
      },
    })
    const client = await openFor()
    client.send(flood)
    await expect.poll(log).toContain('"limit":"work"')
    expect(await metrics()).toContain('inbound_limits_total{limit="work"} 1')
    expect(client.unread().match(/^\d{3} /gm)?.length ?? 0).toBeLessThanOrEqual(answersMax)
    const other = await openFor('a@routed.test')
    expect(await sendData(other, MESSAGE)).toMatch(/^250 /)
    client.close()
  })

  it.each([
    ['lines that begin with a dot', '..\r\n'.repeat(60_000), 20_000],
    ['halves of line ends', '\n'.repeat(400_000), 5_000],
  ])('[I12] makes a message that consists of %s wait', async (_what, text, workMicrosBurst) => {
    const { openFor, metrics, stored } = await start({ limits: { workMicrosBurst } })
    const client = await openFor('a@routed.test')
    expect(await sendData(client, `${text}\r\n`)).toMatch(/^(250|552) /)
    expect(await metrics()).toContain('inbound_limits_total{limit="work"} 1')
    expect(stored.length).toBeLessThan(2)
  })

  it('[I12] counts tiny segments together that arrive while they wait', async () => {
    let nowMs = 0
    const limits = { workMicrosBurst: 2_000, workMicrosPerSecond: 1_000_000 }
    const { openFor, stored } = await start({ limits, monotonicMs: () => nowMs })
    const client = await openFor('a@routed.test')
    await client.ask('DATA')
    for (let i = 0; i < 2_000; i += 1) client.send('x')
    nowMs = 1_000
    client.send('\r\n.\r\n')
    expect(await client.see(/\r\n/)).toMatch(/^250 /)
    expect(stored[0]?.raw.toString('latin1')).toMatch(/^x{2000}\r\n$/m)
  })

  it('does not delay ordinary mail', async () => {
    const { openFor, metrics } = await start()
    const client = await openFor()
    for (let i = 0; i < 100; i += 1) {
      client.send('RSET\r\n')
      await client.see(/^250 .*\r\n/m)
      await client.ask('MAIL FROM:<ada@sender.test>')
      await client.ask('RCPT TO:<a@routed.test>')
      expect(await sendData(client, MESSAGE)).toMatch(/^250 /)
    }
    expect(await metrics()).toContain('inbound_limits_total{limit="work"} 0')
  })

  it('is cut off after QUIT', async () => {
    const { open } = await start()
    const client = await open()
    await client.ask('QUIT')
    const flood = setInterval(() => client.send('x\r\n'), 0)
    await client.end()
    clearInterval(flood)
  })
})

describe('the number of connections', () => {
  it('the number of connections of one address is limited until one ends', async () => {
    const { open, port } = await start({ limits: { connectionsPerAddressMax: 2 } })
    const first = await open()
    await open()
    const refused = createRawClient(port)
    expect(await refused.see(/\r\n/)).toMatch(/^421 4\.7\.0 Too many connections from your address/)
    await refused.end()
    await first.ask('QUIT')
    first.close()
    await expect.poll(async () => greeting(port)).toMatch(/^220 /)
  })

  it('the number of connections of all addresses is limited', async () => {
    const { open, port, metrics, log } = await start({ limits: { connectionsMax: 1 } })
    await open()
    expect(await greeting(port)).toMatch(/^421 4\.3\.2 /)
    expect(await metrics()).toContain('inbound_connections_total{outcome="refused"} 1')
    expect(await metrics()).toContain('inbound_limits_total{limit="connections"} 1')
    expect(log()).toContain('"limit":"connections"')
  })

  it('makes room for an address with few connections by ending one of the address with most', async () => {
    const { openFor, open, port, log } = await start({ limits: { connectionsMax: 3 } })
    const inData = await openFor('a@routed.test')
    await inData.ask('DATA')
    const idle = await open()
    const newer = await open()
    const other = createRawClient(port, '127.0.0.1', '127.0.0.2')
    expect(await other.see(/\r\n/)).toMatch(/^220 /)
    expect(await idle.see(/\r\n/)).toMatch(/^421 4\.3\.2 /)
    await idle.end()
    expect(log()).toContain('"limit":"connections"')
    expect(await newer.ask('NOOP')).toMatch(/^250 /)
    inData.send(`${MESSAGE}.\r\n`)
    expect(await inData.see(/\r\n/)).toMatch(/^250 /)
    // Two and one: the next of the second address would have as many as the first.
    const third = createRawClient(port, '127.0.0.1', '127.0.0.2')
    expect(await third.see(/\r\n/)).toMatch(/^421 4\.3\.2 /)
    for (const client of [other, third]) client.close()
  })

  async function greeting(port: number): Promise<string> {
    const client = createRawClient(port)
    const said = await client.see(/\r\n/)
    client.close()
    return said
  }

  it('is bounded by their age, and a message under way is finished', async () => {
    let nowMs = 0
    const limits = { connectionMsMax: 1_000, commandMsMax: 10_000 }
    const { open, openFor } = await start({ limits, monotonicMs: () => nowMs })
    const busy = await openFor('a@routed.test')
    await busy.ask('DATA')
    const idle = await open()
    nowMs = 2_000
    expect(await idle.see(/\r\n/)).toMatch(/^421 4\.4\.2 /)
    busy.send(`${MESSAGE}.\r\n`)
    expect(await busy.see(/\r\n/)).toMatch(/^250 /)
    expect(busy.unread() || (await busy.see(/\r\n/))).toMatch(/^421 4\.4\.2 /)
  })

  it('is bounded by their transactions', async () => {
    const { open } = await start({ limits: { transactionsMax: 2 } })
    const client = await open()
    for (const _ of [1, 2]) {
      await client.ask('MAIL FROM:<ada@sender.test>')
      await client.ask('RSET')
    }
    expect(await client.ask('MAIL FROM:<ada@sender.test>')).toMatch(/^421 4\.7\.0 Enough/)
  })
})

describe('commands', () => {
  it.each(['NOOP', 'RSET', 'VRFY x', 'HELO flood.test', 'EHLO flood.test'])(
    'end the connection after too many without a purpose: %s',
    async (command) => {
      const { open } = await start({ limits: { idleCommandsMax: 20 } })
      const client = await open()
      client.send(`${command}\r\n`.repeat(1_000))
      expect(await client.see(/^421 .*\r\n/m)).toMatch(/^421 4\.7\.0 Too many commands\r\n$/m)
      await client.end()
    },
  )

  it('end the connection after too many errors', async () => {
    const { open } = await start({ limits: { badCommandsMax: 3 } })
    const client = await open()
    client.send('MAIL whatever\r\n'.repeat(10))
    const said = await client.see(/^421 .*\r\n/m)
    expect(said.match(/^501 /gm)?.length).toBe(4)
    expect(said).toMatch(/421 4\.7\.0 Too many errors\r\n$/)
  })

  it('end the connection after too many unknown ones', async () => {
    const { open } = await start()
    const client = await open()
    client.send('XYZZY\r\n'.repeat(50))
    expect(await client.see(/^421 .*\r\n/m)).toMatch(/421 4\.4\.2 Error: too many unrecognized/)
  })

  it('do not grow without an end of line', async () => {
    const { open } = await start()
    const client = await open()
    client.send(`NOOP ${'x'.repeat(100_000)}`)
    expect(await client.see(/\r\n/)).toMatch(/^421 .*too long/)
    await client.end()
  })

  it('[I1] commands that drip end at a deadline', async () => {
    let nowMs = 0
    const { open } = await start({ limits: { commandMsMax: 60_000 }, monotonicMs: () => nowMs })
    const client = await open()
    const dripping = client.drip('NOOP '.repeat(2_000), 5)
    nowMs = 61_000
    expect(await client.see(/\r\n/)).toMatch(/^421 4\.4\.2 /)
    client.close()
    await dripping
  })

  it('commands before the greeting end the connection', async () => {
    const { port } = await start()
    const client = createRawClient(port)
    client.send('EHLO early.test\r\nMAIL FROM:<ada@sender.test>\r\n')
    expect(await client.see(/\r\n/)).toMatch(/^421 .*too soon/)
  })

  it('commands without an end of line are ignored at the end of the connection', async () => {
    const { openFor, metrics } = await start()
    const client = await openFor('a@routed.test')
    client.socket.end('DATA')
    await expect.poll(metrics).toContain('inbound_listener{what="connections"} 0')
    expect(client.unread()).toBe('')
  })
})

describe('a slow message', () => {
  it('[I1] ends at the deadline between two segments', async () => {
    const limits = { dataRateAfterMs: 200, dataBytesPerSecondMin: 1_000_000 }
    const { openFor, stored } = await start({ limits })
    const client = await openFor('a@routed.test')
    await client.ask('DATA')
    const dripping = client.drip('Subject: slow\r\n'.repeat(1_000), 5)
    expect(await client.see(/\r\n/)).toMatch(/^421 4\.4\.2 The message comes too slowly/)
    client.close()
    await dripping
    expect(stored).toEqual([])
  })

  it('[I1] ends at the deadline for the whole message', async () => {
    const { openFor, metrics } = await start({ limits: { dataMsMax: 200 } })
    const client = await openFor('a@routed.test')
    await client.ask('DATA')
    client.send('x'.repeat(100_000))
    expect(await client.see(/\r\n/)).toMatch(/^421 4\.4\.2 The message took too long/)
    await client.end()
    client.close()
    await expect.poll(metrics).toContain('{outcome="cut"} 1')
    await expect.poll(metrics).toContain('{what="bytes_in_transit"} 0')
  })
})

describe('answers that a peer does not read', () => {
  it('are bounded in memory, and the connection ends', async () => {
    const { port, metrics } = await start({
      limits: { commandMsMax: 500, idleCommandsMax: 1e9 },
      recipientsMax: 10_000,
    })
    const socket = connect({ port, host: '127.0.0.1' })
    socket.on('error', () => socket.destroy())
    await new Promise((resolve) => socket.once('data', resolve))
    socket.pause()
    const flood = 'EHLO flood.test\r\n'.repeat(10_000)
    let sent = 0
    const go = () => {
      if (sent++ < 50 && !socket.destroyed) socket.write(flood, go)
    }
    go()
    await expect.poll(metrics, { timeout: 15_000 }).toContain('{what="connections"} 0')
    socket.destroy()
  }, 20_000)
})

describe('an orderly end', () => {
  it('is announced to idle connections, and waits for messages under way', async () => {
    const { listener, open, openFor, port, stored } = await start()
    const idle = await open()
    const busy = await openFor('a@routed.test')
    await busy.ask('DATA')
    const stopped = listener.stop()
    expect(await idle.see(/\r\n/)).toMatch(/^421 4\.3\.2 /)
    await idle.end()
    idle.close()
    await expect(refusal(port)).resolves.toBe('ECONNREFUSED')
    busy.send(`${MESSAGE}.\r\n`)
    expect(await busy.see(/^421 .*\r\n/m)).toMatch(/^250 .*\r\n421 4\.3\.2 /)
    busy.close()
    await stopped
    expect(stored.length).toBe(1)
    expect(listener.isListening()).toBe(false)
  })

  it('does not wait for longer than the grace period', async () => {
    const { listener, openFor, stored } = await start({ limits: { graceMs: 100 } })
    const client: RawClient = await openFor('a@routed.test')
    await client.ask('DATA')
    await listener.stop()
    await client.end()
    expect(stored).toEqual([])
  })

  it('does not wait for large messages in the receive throttle', async () => {
    const limits = { graceMs: 100 }
    const { listener, openFor, stored, metrics } = await start({ limits, bytesMax: 1e8 })
    for (let i = 0; i < 3; i += 1) {
      const client = await openFor('a@routed.test')
      await client.ask('DATA')
      client.send(`${'x'.repeat(20_000_000)}\r\n.\r\n`)
    }
    await expect.poll(metrics).not.toContain('{what="bytes_in_transit"} 0')
    await listener.stop()
    expect(stored).toEqual([])
    await expect.poll(metrics).toContain('{outcome="cut"} 3')
    await expect.poll(metrics).toContain('{what="bytes_in_transit"} 0')
  })

  function refusal(port: number): Promise<string> {
    return new Promise((resolve) => {
      const socket = connect({ port, host: '127.0.0.1' })
      socket.once('error', (error) => resolve('code' in error ? String(error.code) : ''))
      socket.once('connect', () => resolve('connected'))
    })
  }

  it('is possible before the start, and twice', async () => {
    const { listener } = await start()
    await listener.stop()
    await listener.stop()
  })
})

it('[I12] allows a connection less than 2 s of CPU in any ten seconds', () => {
  const { workMicrosBurst, workMicrosPerSecond } = listenerLimits
  expect(workMicrosBurst + 10 * workMicrosPerSecond).toBeLessThan(2_000_000)
})
